#pragma once

/// Any schedule, told to any reader.

#include "models/axes/schedules.hpp"
#include "sim/schedule/fully_sharded.hpp"
#include "sim/schedule/gpipe.hpp"
#include "sim/schedule/interleaved.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/two_way.hpp"
#include "sim/schedule/zero_bubble.hpp"

namespace prequel {

/// The passes of all micro batches, without the step's end (PipelineEmitter::step_end).
template <Reader R>
void emit_pipeline(Schedule kind, const PipelineShape& shape, R& reader) {
  if (shape.is_layer_by_layer()) return emit_fully_sharded(shape, reader);
  const auto in_order = [&](TwoWays ways, const StageOrders& orders) {
    TwoWayPipeline(shape, ways, reader).run(orders);
  };
  switch (kind) {
    case Schedule::gpipe: return emit_gpipe(shape, reader);
    case Schedule::one_f_one_b:
      return shape.exchanges == Exchanges::beside ? emit_interleaved(shape, reader)
                                                  : emit_one_f_one_b(shape, reader);
    case Schedule::interleaved: return emit_interleaved(shape, reader);
    case Schedule::zb_h1: return emit_zb_h1(shape, reader);
    case Schedule::zb_h2: return emit_zb_h2(shape, reader);
    case Schedule::zb_2p: return emit_zb_h2<Steps::staggered>(shape, reader);
    case Schedule::dualpipe: return in_order(TwoWays::apart, dualpipe_orders(shape));
    case Schedule::dualpipe_v: return in_order(TwoWays::folded, dualpipe_v_orders(shape));
    case Schedule::zb_v: return in_order(TwoWays::folded, zb_v_orders(shape));
    case Schedule::v_half: return in_order(TwoWays::folded, v_half_orders(shape));
    case Schedule::v_min: return in_order(TwoWays::folded, v_min_orders(shape));
  }
}

/// Tells each stage's tasks after its last backward.
template <Reader R>
void emit_step_end(Schedule kind, const PipelineShape& shape, R& reader) {
  const Copies copies = traits(kind).mirrored ? Copies::mirrored : Copies::none;
  PipelineEmitter(shape, reader, 0, copies).step_end();
}

}  // namespace prequel
