#pragma once

/// A training step, priced: pipeline stages, layers whose parameters are gathered one by one, or
/// both. It can be told to any reader (sim/step/tell_step.hpp).

#include <vector>

#include "sim/price/pricing.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {

/// A block that a step plays as one: a model chunk; where layers are gathered one by one on a
/// single stage, a layer or the root (embedding and head).
struct StepBlock {
  StageContent content;
  std::int64_t first_layer{};
  ChunkCosts costs;  ///< of one micro batch
};

struct Step {
  Schedule schedule{};
  PipelineShape shape;
  std::vector<StepBlock> blocks;  ///< chunk c of stage s at c·stages + s
  BlockTable durations{PipelineShape{}};
  BlockTable network{PipelineShape{}};  ///< of these, what links between nodes carry
  Seconds fixed;                        ///< before and after all that is played
  double beside_launch_share{};         ///< of launches, in what passes side by side take
  bool overlap_is_priced{};  ///< whether durations hold what overlapping tasks lose to one another
  bool copies_are_priced{};  ///< whether those of passes hold copies between shards and layers
};

/// Prices the layers of a scenario.
inline LayerCosts price_layers(const Scenario& scenario) {
  return price(layer_question(scenario.plan, scenario.cluster), scenario);
}

/// The step of a scenario whose layers are priced as `price_layers` does. Throws InputError when
/// the schedule cannot run in this shape.
Step step_of(const Scenario& scenario, const LayerCosts& layers);
Step step_of(const Scenario& scenario);

}  // namespace prequel
