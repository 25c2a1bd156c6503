#pragma once

/// Which plans are worth a thought: each other one is beaten by one of them in every respect.

#include <cstddef>
#include <vector>

#include "sim/search/found_plan.hpp"

namespace prequel {

/// The places, ascending, of plans of which no other is at least as good in what they are ranked
/// by, in memory and in nodes; of equals the first. `plans` are in the order of their rank.
std::vector<std::size_t> pareto_front(const std::vector<FoundPlan>& plans);

}  // namespace prequel
