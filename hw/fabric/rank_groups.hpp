#pragma once

/// The groups of ranks that communicate at the same time.

#include <compare>
#include <vector>

namespace prequel {

/// All groups of one kind that a job of `ranks` ranks consists of: `size` ranks each that are
/// `stride` apart. Member i of the group that begins at rank b is rank b + i·stride.
struct RankGroups {
  int ranks{1};
  int stride{1};
  int size{1};

  /// The lowest rank of each group, ascending.
  [[nodiscard]] std::vector<int> firsts() const;
  /// The members of the group that begins at `first`, ascending.
  [[nodiscard]] std::vector<int> members(int first) const;

  auto operator<=>(const RankGroups&) const = default;
};

}  // namespace prequel
