#pragma once

/// The axes of a plan that its layers depend on.

#include "models/layers/setting.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {

/// With rows of the longest length: what memory has to hold.
LayerSetting layer_setting(const Plan& plan);
/// With rows of the mean length: what layers are priced with.
LayerSetting mean_layer_setting(const Plan& plan);

/// All that weights and activations of layers depend on, besides the model and the stack.
struct LayerContent {
  LayerSetting setting;  ///< with rows of the longest length
  WordSet<Module> repeated;
  double repeated_blocks{1};  ///< share of the blocks that repeat these
  WordSet<OffloadModule> offloaded;
  std::int64_t offloaded_layers{};

  auto operator<=>(const LayerContent&) const = default;
};
LayerContent layer_content(const Plan& plan);

/// Which matrices learn, groups of targets taken apart.
Learning learning_of(const Plan& plan);
/// Returns how many layers' own matrices the optimizer updates: all, the last so many, or none
/// where adapters alone learn.
std::int64_t updated_layers(const Transformer& model, const Plan& plan);
/// The format of activations, and of all products but those of linear layers in 8 or 4 bits.
Precision activation_precision(const Plan& plan);
/// Returns the modules that the backward pass computes again.
WordSet<Module> repeated_modules(const Plan& plan);
/// Tests whether that is the experts' activation, but not the experts.
bool repeats_expert_activation(const Plan& plan);
/// In which share of the blocks.
double repeated_blocks(const Plan& plan);
/// Returns the modules of selective recompute in `set` that the model has.
WordSet<RecomputeModule> modules_of(const Transformer& model, WordSet<RecomputeModule> set);

}  // namespace prequel
