#pragma once

#include <cuda_runtime_api.h>

#include "calibrate/measure/backend.hpp"

namespace prequel {

/// A product by cuBLASLt in bf16 with its first choice of kernel, on random operands that are
/// rotated so that they come from memory. wgrad accumulates in fp32 into the gradient.
Run prepare_cuda_gemm(const Gemm& gemm, cudaStream_t stream);

}  // namespace prequel
