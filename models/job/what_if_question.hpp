#pragma once

/// Questions of a job beside its plan: how long an iteration takes when ranks or links are not as
/// they should be.

#include <cstdint>
#include <string>
#include <vector>

namespace prequel {

class Cursor;

/// A node whose devices compute at `speed` times the usual rate, above 0.
struct SlowNode {
  std::int64_t node{};
  double speed{1};
};

/// All links of a level of the fabric ("spine") at `fraction` of their bandwidth, above 0.
struct LinkFraction {
  std::string level;
  double fraction{1};
};

struct WhatIf {
  std::vector<SlowNode> slow_nodes;
  std::vector<LinkFraction> link_fractions;
  double jitter{};  ///< relative standard deviation of the time between two synchronisations
  std::uint64_t seed{1};
  std::uint32_t samples{1};  ///< steps to play, at least 1

  /// Tests whether anything is asked for.
  [[nodiscard]] bool any() const {
    return !slow_nodes.empty() || !link_fractions.empty() || jitter > 0;
  }
};

/// Reads `{"slow_nodes"?: {"7": 0.9}, "link_fractions"?: {"spine": 0.5}, "jitter"?, "seed"?,
/// "samples"?}`; seed and samples are of the jitter. Problems go to the cursor's document.
WhatIf read_what_if(const Cursor& cursor);

}  // namespace prequel
