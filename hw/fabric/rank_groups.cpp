#include "hw/fabric/rank_groups.hpp"

#include <cstddef>

namespace prequel {

std::vector<int> RankGroups::firsts() const {
  std::vector<int> found;
  found.reserve(static_cast<std::size_t>(ranks / size));
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank / stride % size == 0) found.push_back(rank);
  }
  return found;
}

std::vector<int> RankGroups::members(int first) const {
  std::vector<int> found(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) found[static_cast<std::size_t>(i)] = first + i * stride;
  return found;
}

}  // namespace prequel
