#pragma once

/// Times that a step cannot be shorter than, found without playing it. A search passes over plans
/// by them.

#include "sim/schedule/schedule.hpp"

namespace prequel {

/// The longest of all stages' ways through the step (s): the first micro batch comes down to it, it
/// computes all passes, and the last gradient goes back up to the first stage. For GPipe, 1F1B and
/// interleaved 1F1B of equal stages with free sends it is the step's time itself. Where layers are
/// gathered one by one on a single stage, it is the longer of the two streams.
[[nodiscard]] double least_seconds(Schedule kind, const PipelineShape& shape,
                                   const BlockTable& durations);

}  // namespace prequel
