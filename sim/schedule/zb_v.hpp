#pragma once

/// ZB-V (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 6): the model goes down the
/// devices and back up, so that each holds two chunks, one from either end, and stage 0 both the
/// first and the last. Each input gradient is followed by its weight gradient but on the way out,
/// where these fill what would be bubbles.
///
/// Where forward, input and weight gradient take the same time there is no bubble at all, and no
/// device holds more than 2p activations of a chunk: as much as stage 0 of 1F1B.

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

/// The passes of each stage in order, for any m.
[[nodiscard]] StageOrders zb_v_orders(const PipelineShape& shape);

template <Reader R>
void emit_zb_v(const PipelineShape& shape, R& reader) {
  TwoWayPipeline(shape, TwoWays::folded, reader).run(zb_v_orders(shape));
}

}  // namespace prequel
