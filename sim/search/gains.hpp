#pragma once

/// Gain from a little more of each resource for the plans that a search found.

#include <optional>
#include <string>
#include <vector>

#include "sim/search/search.hpp"

namespace prequel {

struct Gain {
  std::string resource;      ///< "matrix rate", …, "memory"
  double saved{};            ///< share of the seconds
  std::optional<Plan> plan;  ///< memory: the faster one that would then fit
};

/// For each of `plans`, what `more` times each resource would save (1.1 is 10 % more), the largest
/// first. More memory makes no plan faster, but lets another of the same nodes, degrees and global
/// batch fit, with a larger micro batch or less recomputation, say: it is compared with the best
/// of those that fit as it is.
std::vector<std::vector<Gain>> gains(const std::vector<FoundPlan>& plans,
                                     const Candidates& candidates, const SearchInputs& inputs,
                                     const SearchLimits& limits, double more = 1.1,
                                     const SearchWatch& watch = {});

}  // namespace prequel
