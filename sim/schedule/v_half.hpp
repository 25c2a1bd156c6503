#pragma once

/// V-half (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", section 3): two chunks
/// a device as in ZB-V, but half the activations of 1F1B, p of a chunk and few more, for half of
/// its bubble.
///
/// From device to device its building block (`building_block.hpp`) steps by 2 units where chunk 0
/// goes forward and chunk 1 backward, and by 1 where they return. So each device holds a micro
/// batch's two chunks for about 6p units in sum, which is p activations at a time.

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

/// The passes of each stage in order, for any m.
[[nodiscard]] StageOrders v_half_orders(const PipelineShape& shape);

template <Reader R>
void emit_v_half(const PipelineShape& shape, R& reader) {
  TwoWayPipeline(shape, TwoWays::folded, reader).run(v_half_orders(shape));
}

}  // namespace prequel
