#pragma once

/// What questions are asked of.

#include <string>
#include <vector>

#include "hw/cluster.hpp"
#include "hw/device.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// What is trained, on what and by which stack.
struct Inputs {
  Transformer model;
  Device device;
  Cluster cluster;
  Software software;
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

/// Fills and checks the plan. Throws InputError with every rule that it breaks.
ResolvedScenario resolve(const Inputs& inputs, const PlanRequest& plan);

}  // namespace prequel
