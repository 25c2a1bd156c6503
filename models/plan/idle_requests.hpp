#pragma once

/// Requests of a plan that change nothing, so that nobody takes its price for that of the wish.

#include <string>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// Returns the requests without effect that are not what the stack has anyway, each with its
/// reason. `plan` is the one that `request` was resolved to.
std::vector<std::string> idle_requests(const PlanRequest& request, const Plan& plan,
                                       const Transformer& model, const Software& software);

}  // namespace prequel
