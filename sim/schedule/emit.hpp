#pragma once

/// Any schedule, told to any reader.

#include "sim/schedule/dualpipe.hpp"
#include "sim/schedule/gpipe.hpp"
#include "sim/schedule/interleaved.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/v_half.hpp"
#include "sim/schedule/zb_v.hpp"
#include "sim/schedule/zero_bubble.hpp"

namespace prequel {

/// The passes of all micro batches, without the step's end (PipelineEmitter::step_end).
template <Reader R>
void emit_pipeline(ScheduleKind kind, const PipelineShape& shape, R& reader) {
  switch (kind) {
    case ScheduleKind::gpipe: return emit_gpipe(shape, reader);
    case ScheduleKind::one_f_one_b:
      return shape.exchanges == Exchanges::beside ? emit_interleaved(shape, reader)
                                                  : emit_one_f_one_b(shape, reader);
    case ScheduleKind::interleaved: return emit_interleaved(shape, reader);
    case ScheduleKind::zb_h1: return emit_zb_h1(shape, reader);
    case ScheduleKind::zb_h2: return emit_zb_h2(shape, reader);
    case ScheduleKind::dualpipe: return emit_dualpipe(shape, reader);
    case ScheduleKind::dualpipe_v: return emit_dualpipe_v(shape, reader);
    case ScheduleKind::zb_v: return emit_zb_v(shape, reader);
    case ScheduleKind::v_half: return emit_v_half(shape, reader);
  }
}

/// What each stage does once its last backward is done.
template <Reader R>
void emit_step_end(ScheduleKind kind, const PipelineShape& shape, R& reader) {
  const Copies copies = traits(kind).mirrored ? Copies::mirrored : Copies::none;
  PipelineEmitter(shape, reader, 0, copies).step_end();
}

}  // namespace prequel
