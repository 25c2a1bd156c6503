#pragma once

/// A step, told to any reader.

#include "sim/schedule/emit.hpp"
#include "sim/step/step.hpp"

namespace prequel {

/// All tasks of the step but its fixed time.
template <Reader R>
void tell(const Step& step, R& reader) {
  emit_pipeline(step.schedule, step.shape, reader);
  emit_step_end(step.schedule, step.shape, reader);
}

}  // namespace prequel
