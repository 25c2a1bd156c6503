#pragma once

/// The kernels of which the passes over a layer consist, each with its price.

#include <string_view>
#include <vector>

#include "sim/price/pricing.hpp"

namespace prequel {

struct KernelCost {
  std::string_view name;
  double seconds{};
  bool collective{};       ///< over the tensor-parallel group
  bool weight_gradient{};  ///< a product that no earlier layer waits for
};
using KernelCosts = std::vector<KernelCost>;

/// In the order in which they run; the backward of a block begins with what it repeats. Launches
/// that the device waits for come last, as one. They add up to the `LayerCosts`.
struct LayerKernels {
  KernelCosts block_forward, block_backward;
  KernelCosts embedding_forward, embedding_backward;
  KernelCosts head_forward, head_backward;
};

/// What the layers of a plan depend on.
LayerSetting layer_setting(const Plan& plan);

LayerKernels price_kernels(const Scenario& scenario);

}  // namespace prequel
