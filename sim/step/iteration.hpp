#pragma once

/// One iteration, played: a pipeline of stages, or layers whose parameters are sharded over all
/// data-parallel ranks. Each fills the times of a prediction, of its stages too, and its breakdown.

#include "sim/answer/prediction.hpp"
#include "sim/schedule/fully_sharded.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {

/// How often a tensor-parallel group synchronises in a pass over a layer: after attention and
/// after the MLP.
inline constexpr std::uint32_t kSynchronisationsOfLayer = 2;

/// Whether parameters are gathered layer by layer (ZeRO-3, FSDP).
bool is_fully_sharded(const Plan& plan, const Software& software);
inline bool is_fully_sharded(const Scenario& scenario) {
  return is_fully_sharded(scenario.plan, scenario.software);
}

/// What a pipeline schedule is played with.
struct PipelineGame {
  ScheduleKind kind{};
  PipelineShape shape;
  BlockTable durations;
  std::uint32_t synchronisations{};  ///< of the tensor-parallel group, in one pass over a block
  std::vector<StageContent> parts;   ///< of the model, by `model_part`
};

/// Throws InputError as play_pipeline does.
PipelineGame pipeline_game(const Scenario& scenario);
PipelineGame pipeline_game(const Scenario& scenario, const LayerCosts& layers);

/// Throws InputError when the schedule is unknown or cannot run in this shape.
void play_pipeline(const Scenario& scenario, const LayerCosts& layers, Prediction& prediction);

/// What fully sharded layers are played with.
struct ShardedGame {
  ShardedShape shape;
  ShardedTable durations;
};
ShardedGame sharded_game(const Scenario& scenario);
ShardedGame sharded_game(const Scenario& scenario, const LayerCosts& layers);

void play_fully_sharded(const Scenario& scenario, const LayerCosts& layers, Prediction& prediction);

/// The forward passes of one global batch alone, as an evaluation does them.
Seconds forward_only_time(const Scenario& scenario);

}  // namespace prequel
