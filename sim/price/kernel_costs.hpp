#pragma once

/// The kernels of which the passes over a part of a model consist, each with its price.

#include <string_view>
#include <vector>

#include "sim/price/pricing.hpp"

namespace prequel {

struct KernelCost {
  std::string_view name;
  double seconds{};
  WorkKind kind{};
  bool repeated{};         ///< computed once more in the backward pass
  bool weight_gradient{};  ///< a product that no earlier layer waits for
};
using KernelCosts = std::vector<KernelCost>;

/// In the order in which they run; the backward begins with what it repeats. Launches that the
/// device waits for come last, as one. They add up to the `PartCost`.
struct PartKernels {
  KernelCosts forward, backward;
  double launching_forward{}, launching_backward{};  ///< `PassCost::launching`
};
using LayerKernels = PerPart<PartKernels>;

/// Of the parts that the model has.
LayerKernels price_kernels(const Scenario& scenario);

}  // namespace prequel
