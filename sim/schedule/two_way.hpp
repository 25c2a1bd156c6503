#pragma once

/// Schedules of two chunks a device, given as the passes of each stage in order, for any m that
/// they allow.

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

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
/// Wants p and m even and m ≥ 2p.
[[nodiscard]] StageOrders dualpipe_orders(const PipelineShape& shape);

/// DualPipe-V is that "cut in half" (deepseek-ai/DualPipe, after Qi's V-shaped schedules): each of
/// the p devices does what the nearer half of 2p did, and holds chunk 0 of stage s and, from the
/// other end of the model, its chunk 1. So with p devices the bubble is (p − 1)(F&B + B − 3W), and
/// 2p + 1 activations of such a chunk are held, without a second copy of the model. Wants m ≥ 2p.
[[nodiscard]] StageOrders dualpipe_v_orders(const PipelineShape& shape);

/// ZB-V (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 6): the model goes down the
/// devices and back up, so that each holds two chunks, one from either end, and stage 0 both the
/// first and the last. Each input gradient is followed by its weight gradient but on the way out,
/// where these fill what would be bubbles.
///
/// Where forward, input and weight gradient take the same time there is no bubble at all, and no
/// device holds more than 2p activations of a chunk: as much as stage 0 of 1F1B.
[[nodiscard]] StageOrders zb_v_orders(const PipelineShape& shape);

/// V-half (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", section 3): two chunks
/// a device as in ZB-V, but half the activations of 1F1B, p of a chunk and few more, for half of
/// its bubble.
///
/// From device to device its building block (building_blocks.cpp) steps by 2 units where chunk 0
/// goes forward and chunk 1 backward, and by 1 where they return. So each device holds a micro
/// batch's two chunks for about 6p units in sum, which is p activations at a time.
[[nodiscard]] StageOrders v_half_orders(const PipelineShape& shape);

/// V-min (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", section 3): two chunks a
/// device as in ZB-V, but a third of the activations of 1F1B, for two thirds of its bubble. Its
/// building block (building_blocks.cpp) steps by one unit from device to device, both ways, the
/// least in which a pass can follow another. So each device holds a micro batch's two chunks for
/// about 4p units in sum, which is two thirds of p activations at a time.
[[nodiscard]] StageOrders v_min_orders(const PipelineShape& shape);

}  // namespace prequel
