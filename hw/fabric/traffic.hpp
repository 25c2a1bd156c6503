#pragma once

/// Traffic of groups of ranks while they communicate, and the rate at which the fabric lets them
/// send.

#include <cstdint>
#include <vector>

#include "hw/base/units.hpp"
#include "hw/fabric/rank_groups.hpp"
#include "hw/fabric/routes.hpp"

namespace prequel {

enum class TrafficPattern : std::uint8_t {
  ring,        ///< all-reduce, all-gather, reduce-scatter, broadcast
  all_to_all,  ///< each member sends the same to every other
  send_next    ///< each member but the last sends to the next: pipeline stages
};

/// The flows of one group when each member sends at rate 1; `members` ascending. Rank i runs on
/// device i.
///
/// A ring passes all m members of a node before it goes on to the next node. Libraries lay one ring
/// for each NIC that the members of a node have, each ring in an order of its own: together the
/// rings load the pairs of a node evenly, 1/m on each, and each NIC with its share of one crossing
/// (1 / rings). A ring inside one node puts 1/(m-1) on each pair.
std::vector<Flow> group_flows(const Router& router, const std::vector<int>& members,
                              TrafficPattern pattern);

/// The rate at which each member sends when all groups communicate at once and the most loaded link
/// is just full: min over links of bandwidth / load at rate 1. Infinite where nothing is sent.
BytesPerSecond group_bandwidth(const Router& router, const RankGroups& groups,
                               TrafficPattern pattern);

}  // namespace prequel
