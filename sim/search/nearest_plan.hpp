#pragma once

/// The plan that fits and is the least different from one that does not.

#include <optional>

#include "sim/search/search.hpp"

namespace prequel {

/// Returns the fastest plan that fits with room to spare among those that differ from the
/// scenario's in micro batch, recompute and sharding alone; else among those of its nodes; else of
/// twice, four or eight times as many. Nothing where none fits.
std::optional<FoundPlan> nearest_fitting(const Scenario& scenario);

}  // namespace prequel
