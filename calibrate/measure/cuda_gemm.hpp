#pragma once

#include <cuda_runtime_api.h>

#include "calibrate/measure/cuda_timing.hpp"
#include "hw/vocabulary.hpp"

namespace prequel {

/// A product by cuBLASLt with its first choice of kernel. dgrad is NN and wgrad NT, which
/// accumulates in fp32 into the gradient; products of fp8 are TN in all passes, as cuBLASLt asks
/// and stacks that train in fp8 make them, with bf16 results. Throws SkippedPoint where cuBLASLt
/// has no kernel, or the device no such format.
Launch prepare_cuda_gemm(const Gemm& gemm, cudaStream_t stream);

/// The device multiplies e4m3 (compute capability 8.9).
bool has_fp8(int device);

}  // namespace prequel
