#pragma once

/// Inputs that questions are asked of.

#include <optional>
#include <string>
#include <vector>

#include "hw/cluster.hpp"
#include "hw/device.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// The model, the machine and the software stack of a training.
struct Inputs {
  Transformer model;
  Device device;
  Cluster cluster;
  Software software;
  /// Constants of these files that are not as shipped, so that no run checked them: by --set, or in
  /// a file of the same name in a folder of one's own ("software.kernels.gemm_time_factor").
  std::vector<std::string> edited;
};

/// All that a prediction starts from; the plan is resolved.
struct Scenario : Inputs {
  Plan plan;
};

/// A scenario that can be run, and what the user should know about its plan.
struct ResolvedScenario {
  Scenario scenario;
  std::vector<std::string> warnings;
};

/// Where the device has no products in the precision that the stack trains in by default, gives the
/// stack the next wider one that it has, and says so; else empty.
std::string replace_precision(Software& software, const Device& device);

/// Fills and checks the plan; a default precision that the device lacks is replaced, with a
/// warning. Throws InputError with every rule that it breaks.
ResolvedScenario resolve(const Inputs& inputs, const PlanRequest& plan);

}  // namespace prequel
