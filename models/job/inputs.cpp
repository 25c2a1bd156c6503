#include "models/job/inputs.hpp"

#include <utility>

#include "models/plan/rules.hpp"

namespace prequel {

ResolvedScenario resolve(const Inputs& inputs, const PlanRequest& plan) {
  auto [resolved, warnings] = resolve_plan(plan, inputs.model, inputs.cluster, inputs.software);
  return {{inputs, std::move(resolved)}, std::move(warnings)};
}

}  // namespace prequel
