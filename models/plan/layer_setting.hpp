#pragma once

/// What of a plan its layers depend on.

#include "models/layers/setting.hpp"
#include "models/plan/plan.hpp"

namespace prequel {

LayerSetting layer_setting(const Plan& plan);
/// The format of activations, and of all products but those of linear layers in 8 or 4 bits.
Precision activation_precision(const Plan& plan);
/// What the backward pass computes again.
WordSet<Module> repeated_modules(const Plan& plan);
/// In which share of the blocks.
double repeated_blocks(const Plan& plan);

}  // namespace prequel
