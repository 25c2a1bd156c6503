#pragma once

/// Works on the device, ready to run.

#include <string>
#include <utility>

#include "calibrate/measure/cuda_or_hip.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/work.hpp"

namespace prequel {

/// A product by cuBLASLt or hipBLASLt with its first choice of kernel. dgrad is NN and wgrad NT,
/// which accumulates in fp32 into the gradient; products of fp8 are TN in all passes, as these ask
/// and stacks that train in fp8 make them, with bf16 results; so are those with scales of blocks
/// (fp8-block: 128 x 128 of weights, 1 x 128 of others; mxfp8: 32; fp4: 16 elements), which are all
/// 1 or near it. Throws SkippedPoint where the library has no kernel, or the device no such format,
/// OutOfMemory.
Launch prepare_cuda(const Gemm& gemm, cudaStream_t stream);

/// The products of experts with as many rows each: strided-batched as one kernel, or one after
/// another, each with operands of its own.
Launch prepare_cuda(const GroupedGemm& product, cudaStream_t stream);

/// Returns the name of the library in a measurement file, and its version.
std::pair<std::string, std::string> product_library();

/// Throws SkippedPoint for kinds that have no kernel here.
Launch prepare_cuda(const Stream& stream, cudaStream_t on);

Launch prepare_cuda(const GradientNorm& norm, cudaStream_t on);

/// Scores, causal softmax and context in a row. Each has operands of its own, out of the cache, as
/// the scores of all heads are too many to stay there.
Launch prepare_cuda(const AttentionChain& chain, cudaStream_t on);

/// From or to pinned memory by the copy engine, or through the driver's own buffers.
Run prepare_cuda(const HostCopy& copy, cudaStream_t on, const Patience& patience);

/// Host time of one launch in a row of them; as nodes of a graph, the time until the device has
/// run all of a graph over its nodes.
Run prepare_cuda(const KernelLaunch& launch, cudaStream_t on, const Patience& patience);

}  // namespace prequel
