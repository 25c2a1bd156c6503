#pragma once

/// The plan that fits and is the least different from one that does not.

#include <functional>
#include <optional>

#include "sim/search/search.hpp"

namespace prequel {

/// Returns whether a plan is as sure to fit as is asked.
using IsSure = std::function<bool(const FoundPlan&)>;

/// Returns the fastest plan that `is_sure` to fit among those that differ from the scenario's in
/// micro batch, recompute and sharding alone; else among those of its nodes; else of twice, four or
/// eight times as many. Nothing where none does.
std::optional<FoundPlan> nearest_fitting(const Scenario& scenario, const IsSure& is_sure);

}  // namespace prequel
