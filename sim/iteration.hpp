#pragma once

/// One iteration, played: a pipeline of stages, or layers whose parameters are sharded over all
/// data-parallel ranks. Each fills the times, stages and breakdown of a prediction.

#include "sim/prediction.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {

/// Whether parameters are gathered layer by layer (ZeRO-3, FSDP).
bool is_fully_sharded(const Scenario& scenario);

/// What a pipeline schedule is played with.
struct PipelineGame {
  ScheduleKind kind{};
  PipelineShape shape;
  BlockTable durations;
  std::uint32_t synchronisations{};  ///< of the tensor-parallel group, in one pass over a block
};

/// Throws InputError as play_pipeline does.
PipelineGame pipeline_game(const Scenario& scenario);

/// Throws InputError when the schedule is unknown or cannot run in this shape.
void play_pipeline(const Scenario& scenario, Prediction& prediction);

void play_fully_sharded(const Scenario& scenario, Prediction& prediction);

}  // namespace prequel
