#pragma once

/// Fabrics that several tests build.

#include "hw/fabric/description.hpp"
#include "hw/fabric/routes.hpp"
#include "hw/fabric/traffic.hpp"

namespace prequel {

inline constexpr double kNvlinkRate = 300e9;
inline constexpr double kPcieRate = 64e9;
inline constexpr double kNicRate = 25e9;

/// Eight devices on an NVSwitch, with `nics` NICs.
inline NodeFabric dgx_node(int nics = 8) {
  NodeFabric node;
  node.devices = 8;
  node.interconnect = Interconnect::nvswitch;
  node.device_link = {kNvlinkRate};
  node.nics = nics;
  node.nic = {kNicRate};
  node.pcie = {kPcieRate};
  return node;
}

/// A tree of 32-port switches: 16 NICs on each leaf where it is not over-subscribed.
inline FatTree fat_tree(int levels = 2, double over_subscription = 1.0, bool rails = false) {
  return {.levels = levels,
          .radix = 32,
          .rail_optimized = rails,
          .over_subscription = over_subscription,
          .core_over_subscription = 1.0,
          .link = {kNicRate}};
}

inline FabricDescription described(NodeFabric node, Network network) {
  FabricDescription description;
  description.node = node;
  description.network = std::move(network);
  return description;
}

inline Router routed(const FabricDescription& description, int nodes) {
  return Router(build_fabric(description, nodes));
}

inline Router dgx_cluster(int nodes, int nics = 8, const FatTree& tree = fat_tree()) {
  return routed(described(dgx_node(nics), tree), nodes);
}

/// Returns the rate of groups of `size` ranks that are `stride` apart, when they fill the cluster.
inline double rate(const Router& router, int stride, int size,
                   TrafficPattern pattern = TrafficPattern::ring) {
  const int ranks = static_cast<int>(router.fabric().devices().size());
  return group_bandwidth(router, RankGroups{ranks, stride, size}, pattern).value;
}

}  // namespace prequel
