#pragma once

/// Recommendation of a search: a plan, another one if that runs out of memory, and what to measure.

#include <optional>
#include <string>
#include <vector>

#include <cstddef>

namespace prequel {

/// Ranks among the plans of the answer, from 0.
struct Recommendation {
  std::size_t plan{};
  std::optional<std::size_t> fallback;  ///< needs clearly less memory
  std::vector<std::size_t> measure;     ///< those that cannot be told apart; empty if one is ahead
  std::string text;                     ///< three sentences
};

}  // namespace prequel
