#pragma once

/// Memory-bound kernels on the device, and the chain of kernels that unfused attention is.

#include "calibrate/measure/cuda_or_hip.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/work.hpp"

namespace prequel {

/// Throws SkippedPoint for kinds that have no kernel here.
Launch prepare_cuda_stream(const Stream& stream, cudaStream_t on);

Launch prepare_cuda_norm(const GradientNorm& norm, cudaStream_t on);

/// Scores, causal softmax and context in a row. Each has operands of its own, out of the cache, as
/// the scores of all heads are too many to stay there.
Launch prepare_cuda_chain(const AttentionChain& chain, cudaStream_t on);

}  // namespace prequel
