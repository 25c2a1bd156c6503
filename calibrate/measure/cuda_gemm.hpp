#pragma once

#include <string>
#include <utility>

#include "calibrate/measure/cuda_or_hip.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// A product by cuBLASLt or hipBLASLt with its first choice of kernel. dgrad is NN and wgrad NT,
/// which accumulates in fp32 into the gradient; products of fp8 are TN in all passes, as these ask
/// and stacks that train in fp8 make them, with bf16 results; so are those with scales of blocks
/// (fp8-block: 128 x 128 of weights, 1 x 128 of others; mxfp8: 32; fp4: 16 elements), which are all
/// 1 or near it. Throws SkippedPoint where the library has no kernel, or the device no such format,
/// OutOfMemory.
Launch prepare_cuda_gemm(const Gemm& gemm, cudaStream_t stream);

/// The products of experts with as many rows each: strided-batched as one kernel, or one after
/// another, each with operands of its own.
Launch prepare_cuda_grouped(const GroupedGemm& product, cudaStream_t stream);

/// Returns the name of the library in a measurement file, and its version.
std::pair<std::string, std::string> product_library();

}  // namespace prequel
