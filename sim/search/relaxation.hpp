#pragma once

/// Limits and wishes to give up where a search finds nothing.

#include <string>
#include <vector>

#include "sim/search/search.hpp"

namespace prequel {

/// One limit that stands in the way: without it, plans fit.
struct Relaxation {
  /// "recompute", "require 'dp > 5000'", "nodes 4": as subjects of errors are written.
  std::string limit;
  bool given_up{};         ///< it is left out; else it is said in addition
  std::int64_t fitting{};  ///< plans that then fit
  FoundPlan best;          ///< of them
};

/// Limits of which giving up one alone lets plans fit: those of `limits`, axes of `said`, which are
/// as the user said them (and filled with `reach` as by `fill_axes`), what the stack does not offer
/// of an axis that is not said, or the number of nodes, for a few more of them. Those that were
/// found where `watch` stops it, or after `seconds`.
std::vector<Relaxation> relaxations(const SearchAxes& said, const SearchInputs& inputs,
                                    const SearchLimits& limits, Reach reach,
                                    const SearchWatch& watch = {}, double seconds = 1e9);

/// The same for plans given one by one: only `limits` can be given up.
std::vector<Relaxation> relaxations(const Candidates& candidates, const SearchInputs& inputs,
                                    const SearchLimits& limits, const SearchWatch& watch = {});

}  // namespace prequel
