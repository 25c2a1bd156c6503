#pragma once

/// Fused attention by cuDNN, as training frameworks ask it for.

#include <cudnn.h>

#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/cudnn_graph.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// The pass as the graph that cuDNN's flash attention recognises, in bf16 with sums in fp32 and
/// tensors in memory as batch, position, head, element. Arrays, forward: Q, K, V, O, statistics of
/// the softmax; backward these and dO, dQ, dK, dV and, the last, the fp32 sums of dQ, which must be
/// zero before each run. In fp8 Q, K, V and O are e4m3, gradients e5m2, no sums of dQ are kept, and
/// behind the others come factors in fp32: of Q, K, V and P to divide by, of P to multiply with;
/// then, forward, that of O to multiply with and the largest of P and of O; backward those of O, dO
/// and dS to divide by, of dQ, dK, dV and dS to multiply with, and the largest of these four.
/// Throws SkippedPoint where cuDNN does not take the shape.
CudnnGraph attention_graph(const FusedAttention& attention);

/// One pass on the current device, random data in place. Throws SkippedPoint, DeviceError.
Launch prepare_cuda(const FusedAttention& attention, cudaStream_t stream);

}  // namespace prequel
