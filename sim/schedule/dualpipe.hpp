#pragma once

/// DualPipe (DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", section 3.2.1): micro batches enter
/// at both ends of the pipeline, half at each, and every device holds a stage of both directions.
///
/// Bubble (p/2 − 1)(F&B + B − 3W) per device, where B is the whole backward, W its weight gradient
/// and F&B a forward and a backward that overlap. Here such two run one after the other but hand on
/// their results together, so F&B is F + B; what their overlap gains belongs into the durations. A
/// device holds p + 1 activations at most.
///
/// Two devices hold the same two stages, and reduce the gradients of both together.
///
/// In the shape, `chunks` is 2: chunk 0 of stage s is the s-th block of layers, chunk 1 the
/// (p − 1 − s)-th.
///
/// DualPipe-V is that "cut in half" (deepseek-ai/DualPipe, after Qi's V-shaped schedules): each of
/// the p devices does what the nearer half of 2p did, and holds chunk 0 of stage s and, from the
/// other end of the model, its chunk 1. So with p devices the bubble is (p − 1)(F&B + B − 3W), and
/// 2p + 1 activations of such a chunk are held, without a second copy of the model.

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

/// The passes of each stage in order. Wants p and m even and m ≥ 2p.
[[nodiscard]] StageOrders dualpipe_orders(const PipelineShape& shape);

/// The same of DualPipe-V. Wants m ≥ 2p.
[[nodiscard]] StageOrders dualpipe_v_orders(const PipelineShape& shape);

template <Reader R>
void emit_dualpipe(const PipelineShape& shape, R& reader) {
  TwoWayPipeline(shape, TwoWays::apart, reader).run(dualpipe_orders(shape));
}

template <Reader R>
void emit_dualpipe_v(const PipelineShape& shape, R& reader) {
  TwoWayPipeline(shape, TwoWays::folded, reader).run(dualpipe_v_orders(shape));
}

}  // namespace prequel
