#pragma once

/// Which processes run a collective together: the groups whose times tell links apart.

#include <vector>

namespace prequel {

/// Groups of equal size that run the same collective at the same time.
struct GroupLayout {
  int ranks{};   ///< of one group
  int nodes{1};  ///< that one group spans
  int groups{1};
  std::vector<int> group_of;  ///< by rank of all processes; -1: waits
};

/// With every node holding the same number of processes: one group of every power of two inside a
/// node, and as many of them at once as there are; whole nodes, by powers of two and all; one
/// process a node, alone and for every process of the node at once, as data-parallel groups that
/// share their nodes' network cards. `node_of` gives each process its node, numbered in the order
/// in which they first appear; where nodes differ in size, only the group of all is left.
std::vector<GroupLayout> group_layouts(const std::vector<int>& node_of);

}  // namespace prequel
