#pragma once

/// Memory-bound kernels, and what else needs device code. Device code is compiled as C++17, all
/// that CMake 3.25 asks of nvcc, and includes nothing of the rest.

#include <cstddef>
#include <vector>

#include "calibrate/measure/cuda_or_hip.hpp"

namespace prequel {

/// The format in which random bits shall be sound numbers: bf16 of [-1, 1), which are sound as fp16
/// and, by twos, as fp32, too; or e4m3 of (-2, 2).
enum class RandomNumbers { bf16, fp8 };

/// Fills `bytes` with random numbers: zeros would be multiplied with less power, so faster.
cudaError_t fill_random(void* data, std::size_t bytes, RandomNumbers numbers, cudaStream_t stream);

/// `causal_softmax` is over square matrices of scores; `embedding` takes rows in random order.
/// Casts are to e4m3: with a known scale, with one of the whole tensor, of each row, of 128
/// elements or, a power of two, of 32; these two take rows of whole groups. NVFP4's is to e2m1 with
/// one of the whole tensor and, in e4m3, of 16 elements.
enum class CudaKernel {
  copy,
  residual_add,
  gelu,
  swiglu,
  bias_dropout_add,
  layer_norm,
  rms_norm,
  softmax,
  causal_softmax,
  embedding,
  adam,
  cast,
  cast_absmax,
  cast_rows,
  cast_blocks,
  cast_mxfp8,
  cast_nvfp4
};

/// Launches the kernel over `rows` rows of `width` (even) elements; arrays in the order and with
/// the element sizes of `stream_traffic`: what is read, then what is written, then the mask.
cudaError_t launch_stream_kernel(CudaKernel kernel, const std::vector<void*>& arrays,
                                 std::size_t rows, std::size_t width, cudaStream_t stream);

/// Adds the squares of `count` fp32 to `*sum`.
cudaError_t launch_sum_of_squares(const void* data, std::size_t count, float* sum,
                                  cudaStream_t stream);

/// Launches a kernel that does nothing.
cudaError_t launch_empty_kernel(cudaStream_t stream);

/// Launches a kernel that keeps the stream busy for so long, while the host launches what follows.
cudaError_t launch_delay(unsigned nanoseconds, cudaStream_t stream);

}  // namespace prequel
