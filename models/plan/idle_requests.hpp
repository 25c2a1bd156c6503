#pragma once

/// What a plan asks for that changes nothing, so that nobody takes its price for that of the wish.

#include <string>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// Of a request and the plan that it was resolved to: what was asked for, is not what the stack has
/// anyway, and has no effect; each with why.
std::vector<std::string> idle_requests(const PlanRequest& request, const Plan& plan,
                                       const Transformer& model, const Software& software);

}  // namespace prequel
