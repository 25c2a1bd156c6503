#pragma once

/// Judgements for those who ask about many plans and do not want to know what is wrong with each.

#include <optional>

#include "models/plan/plan.hpp"

namespace prequel {

/// The plan of `judge_plan`; nothing where it breaks a rule. Faster, as no text is formed.
std::optional<Plan> legal_plan(const PlanRequest& request, const Transformer& model,
                               const Cluster& cluster, const Software& software);

}  // namespace prequel
