#pragma once

/// Memory-bound kernels in bf16, and what else needs device code.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace prequel {

/// Device code is compiled as C++17, all that CMake 3.25 asks of nvcc, and includes nothing of the
/// rest.
enum class CudaKernel { copy, residual_add, gelu, swiglu, layer_norm, rms_norm };

/// Fills `count` bf16 with random numbers of [-1, 1).
cudaError_t fill_random_bf16(void* data, std::size_t count, cudaStream_t stream);

/// Launches the kernel over `rows` rows of `width` elements; a and b are read, c is written.
cudaError_t launch_stream_kernel(CudaKernel kernel, const void* a, const void* b, void* c,
                                 std::size_t rows, std::size_t width, cudaStream_t stream);

/// Launches a kernel that does nothing.
cudaError_t launch_empty_kernel(cudaStream_t stream);

}  // namespace prequel
