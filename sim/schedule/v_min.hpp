#pragma once

/// V-min (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", section 3): two chunks a
/// device as in ZB-V, but a third of the activations of 1F1B, for two thirds of its bubble. Its
/// building block (`building_block.hpp`) steps by one unit from device to device, both ways, the
/// least in which a pass can follow another. So each device holds a micro batch's two chunks for
/// about 4p units in sum, which is two thirds of p activations at a time.

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

/// The passes of each stage in order, for any m.
[[nodiscard]] StageOrders v_min_orders(const PipelineShape& shape);

template <Reader R>
void emit_v_min(const PipelineShape& shape, R& reader) {
  TwoWayPipeline(shape, TwoWays::folded, reader).run(v_min_orders(shape));
}

}  // namespace prequel
