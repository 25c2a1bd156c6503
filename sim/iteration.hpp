#pragma once

/// One iteration, played: a pipeline of stages, or layers whose parameters are sharded over all
/// data-parallel ranks. Each fills the times, stages and breakdown of a prediction.

#include "sim/prediction.hpp"

namespace prequel {

/// Whether parameters are gathered layer by layer (ZeRO-3, FSDP).
bool is_fully_sharded(const Scenario& scenario);

/// Throws InputError when the schedule is unknown or cannot run in this shape.
void play_pipeline(const Scenario& scenario, Prediction& prediction);

void play_fully_sharded(const Scenario& scenario, Prediction& prediction);

}  // namespace prequel
