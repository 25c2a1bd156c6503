#pragma once

/// A plan's degrees on one line.

#include <string>

#include "models/plan.hpp"

namespace prequel {

/// "48 nodes, dp 4 tp 8 pp 12 mbs 1 zero 1 recompute full".
std::string layout_text(const Plan& plan);
/// Of what is said only: "nodes 48 tp 8 pp 12".
std::string layout_text(const PlanRequest& request);

}  // namespace prequel
