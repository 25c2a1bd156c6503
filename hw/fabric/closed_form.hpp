#pragma once

/// The bandwidth of groups without a graph, where the fabric and the groups are symmetric.

#include <optional>

#include "hw/fabric/description.hpp"
#include "hw/fabric/rank_groups.hpp"
#include "hw/fabric/traffic.hpp"

namespace prequel {

/// Returns the rate that `group_bandwidth` finds on `build_fabric` of as many nodes as the ranks
/// fill, in well under a microsecond; nothing where the groups do not lie alike in all nodes and
/// leaves, or the network is none of: none, fat tree, full mesh. With w the rate of each member, m
/// members of a group in a node, G groups beside each other there, R rings of a group and c NICs of
/// the node, a ring loads
///
///     a device's link to its NVSwitch     w·(m-1)/m        a pair's direct link   w/m
///     the PCIe link to an exit's NIC      w/R              each NIC               w·G/c
///     the leaf switch                     w·G for each of its hops that leave it
///
/// and the group's rate is the w that fills one of them.
std::optional<BytesPerSecond> closed_group_bandwidth(const FabricDescription& description,
                                                     const RankGroups& groups,
                                                     TrafficPattern pattern);

}  // namespace prequel
