#pragma once

/// Kernels of a scenario, explained, for tests.

#include <vector>

#include "models/job/inputs.hpp"
#include "sim/price/kernel_explanation.hpp"

namespace prequel {

/// Explains the kernels of a stage that holds `parts`.
inline std::vector<ExplainedKernel> explained(const Scenario& scenario, const PartCounts& parts) {
  return explain_kernels(layer_question(scenario.plan, scenario.cluster), scenario, parts,
                         scenario.plan.micro_batches());
}

}  // namespace prequel
