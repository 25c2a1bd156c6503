#pragma once

/// The second look at the plans that a search puts first.

#include <optional>
#include <vector>

#include "sim/search/search.hpp"

namespace prequel {

/// Seconds per iteration of each of `plans` by the detailed engine, on several cores; nothing for
/// those of more passes than a timeline shows.
std::vector<std::optional<double>> detailed_seconds(const std::vector<FoundPlan>& plans,
                                                    const SearchInputs& inputs);

/// Tests whether the detailed engine finds the time that the search found, but for rounding.
bool agrees(const FoundPlan& found, double detailed);

}  // namespace prequel
