#include "hw/fabric/closed_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hw/fabric/builders.hpp"

namespace prequel {
namespace {

/// The rate that fills the most loaded link; loads are for each member sending at rate 1.
struct Bottleneck {
  double rate{std::numeric_limits<double>::infinity()};

  void use(BytesPerSecond bandwidth, double load) {
    if (load > 0.0) rate = std::min(rate, bandwidth.value / load);
  }
};

/// How groups of `size` ranks, `stride` apart, lie in nodes that all look alike.
struct NodeLayout {
  int size{};
  int stride{};
  int nodes{};        ///< of the job
  int members{};      ///< of a group in a node it touches: m
  int groups{};       ///< beside each other in a node: G
  int hop{};          ///< nodes from one member's to the next one's
  int group_nodes{};  ///< nodes of one group
  /// Nodes that a group and those interleaved with it fill.
  [[nodiscard]] int block() const { return hop * group_nodes; }
};

std::optional<NodeLayout> lay_out(const RankGroups& groups, int devices) {
  const auto [ranks, stride, size] = groups;
  if (ranks % devices != 0) return std::nullopt;
  NodeLayout layout{.size = size, .stride = stride, .nodes = ranks / devices};
  if (stride % devices == 0) {
    layout.members = 1;
    layout.hop = stride / devices;
  } else if (devices % stride == 0 && (stride * size) % devices == 0) {
    layout.members = devices / stride;
    layout.hop = 1;
  } else {
    return std::nullopt;
  }
  layout.groups = devices / layout.members;
  layout.group_nodes = size / layout.members;
  return layout;
}

/// Returns the number of nodes in a full block of `capacity` neighbouring nodes (a leaf's, a pod's)
/// whose hop to the next node of their group leaves the block. Nothing where blocks differ.
std::optional<int> leaving_hops(const NodeLayout& layout, int capacity) {
  if (layout.nodes <= capacity) return 0;
  if (layout.hop >= capacity) return capacity;
  const int block = layout.block();
  if (block <= capacity && capacity % block == 0) return 0;
  if (capacity % layout.hop == 0 && block % capacity == 0) return layout.hop;
  return std::nullopt;
}

/// Nodes of one group in a full block of neighbouring nodes. Nothing where blocks differ.
std::optional<int> group_nodes_in(const NodeLayout& layout, int capacity) {
  if (layout.nodes <= capacity) return layout.group_nodes;
  if (layout.hop >= capacity) return 1;
  const int block = layout.block();
  if (block <= capacity && capacity % block == 0) return layout.group_nodes;
  if (capacity % layout.hop == 0 && block % capacity == 0) return capacity / layout.hop;
  return std::nullopt;
}

/// Traffic that leaves a block of neighbouring nodes, in members' rates.
std::optional<double> leaving(const NodeLayout& layout, TrafficPattern pattern, int capacity,
                              double crossing) {
  if (pattern == TrafficPattern::all_to_all) {
    const auto inside = group_nodes_in(layout, capacity);
    if (!inside) return std::nullopt;
    const double outside = layout.size - double{1} * layout.members * *inside;
    return capacity * layout.groups * layout.members * outside / (layout.size - 1);
  }
  const auto hops = leaving_hops(layout, capacity);
  if (!hops) return std::nullopt;
  return *hops * crossing;
}

/// Loads the links inside of the nodes, NICs included. False where they differ.
bool load_node(const FabricDescription& description, const NodeLayout& layout,
               TrafficPattern pattern, Bottleneck& bottleneck) {
  const NodeFabric& node = description.node;
  const int m = layout.members;
  const bool on_host = node.interconnect == Interconnect::host;
  const bool direct = node.interconnect == Interconnect::all_to_all;
  const int sharing = std::max(1, node.devices / node.nics);  // devices that share a NIC
  const int fan = std::max(1, node.nics / node.devices);      // NICs of one device
  if (!on_host && m > 1 && layout.stride % sharing != 0 && sharing % layout.stride != 0) {
    return false;
  }
  double inside = 0.0;  // what a device sends within the node
  double out = 0.0;     // what an exit sends out of it
  double pair = 0.0;    // what it sends to one other member of the node
  double nic = 0.0;     // what passes a NIC
  const double nics = node.nics;
  switch (pattern) {
    case TrafficPattern::ring: {
      const int rings = on_host ? std::min(m, node.nics) : std::min(m, node.nics / fan);
      inside = (m - 1.0) / m;
      pair = 1.0 / m;
      out = 1.0 / rings;
      nic = layout.groups / nics;
      break;
    }
    case TrafficPattern::all_to_all:
      inside = (m - 1.0) / (layout.size - 1);
      pair = 1.0 / (layout.size - 1);
      out = 1.0 - inside;
      nic = node.devices * out / nics;
      break;
    case TrafficPattern::send_next:
      inside = pair = m > 1 ? 1.0 : 0.0;
      out = 1.0;
      nic = m == 1    ? node.devices / nics
            : on_host ? layout.groups / nics
                      : std::min(sharing, layout.stride) / double{1} / fan;
      break;
  }
  if (on_host) {
    const bool together = pattern != TrafficPattern::send_next;  // one device sends in and out
    const BytesPerSecond host = description.scaled(LinkClass::pcie, node.device_link);
    bottleneck.use(host, together ? inside + out : 1.0);
  } else if (m > 1) {
    bottleneck.use(description.scaled(LinkClass::nvlink, node.device_link), direct ? pair : inside);
  }
  bottleneck.use(description.scaled(LinkClass::pcie, node.pcie), on_host ? nic : out / fan);
  bottleneck.use(description.scaled(LinkClass::nic, node.nic), nic);
  return true;
}

/// Tests whether the switches carry whatever the NICs send, shared by all shortest paths.
bool is_non_blocking(const FabricDescription& description, const FatTree& tree) {
  const auto fraction = [&](LinkClass link_class) {
    return description.link_fraction[static_cast<std::size_t>(link_class)];
  };
  const BytesPerSecond nic = description.scaled(LinkClass::nic, description.node.nic);
  return tree.over_subscription <= 1.0 && tree.core_over_subscription <= 1.0 &&
         tree.link * std::min(fraction(LinkClass::spine), fraction(LinkClass::core)) >= nic;
}

bool load_network(const FabricDescription& description, const FatTree& tree,
                  const NodeLayout& layout, TrafficPattern pattern, double crossing,
                  Bottleneck& bottleneck) {
  // Between unlike devices traffic changes rails, which no hop count tells.
  if (tree.rail_optimized && layout.members > 1 && pattern != TrafficPattern::ring) {
    return is_non_blocking(description, tree);
  }
  const FatTreeLayout sizes = fat_tree_layout(description, tree, layout.nodes);
  const int leaves_per_block = tree.rail_optimized ? description.node.nics : 1;
  const auto up = leaving(layout, pattern, sizes.nodes_per_leaf, crossing);
  if (!up) return false;
  const BytesPerSecond spine = description.scaled(LinkClass::spine, sizes.spine_link);
  bottleneck.use(spine * sizes.spines, *up / leaves_per_block);

  const int pod_nodes = sizes.leaves_per_pod / leaves_per_block * sizes.nodes_per_leaf;
  const auto over_core = leaving(layout, pattern, pod_nodes, crossing);
  if (!over_core) return false;
  const BytesPerSecond core = description.scaled(LinkClass::core, sizes.core_link);
  bottleneck.use(core * (sizes.spines * sizes.cores), *over_core);
  return true;
}

bool load_network(const FabricDescription& description, const FullMesh& mesh,
                  const NodeLayout& layout, TrafficPattern pattern, double crossing,
                  Bottleneck& bottleneck) {
  const int m = layout.members;
  const double load = pattern == TrafficPattern::all_to_all
                          ? double{1} * layout.groups * m * m / (layout.size - 1)
                          : crossing;
  bottleneck.use(description.scaled(LinkClass::mesh, mesh.link), load);
  return true;
}

template <class Other>
bool load_network(const FabricDescription&, const Other&, const NodeLayout&, TrafficPattern, double,
                  Bottleneck&) {
  return false;
}

/// All groups lie inside of nodes.
BytesPerSecond bandwidth_in_node(const FabricDescription& description, int size,
                                 TrafficPattern pattern) {
  const NodeFabric& node = description.node;
  const bool on_host = node.interconnect == Interconnect::host;
  const LinkClass link_class = on_host ? LinkClass::pcie : LinkClass::nvlink;
  const BytesPerSecond link = description.scaled(link_class, node.device_link);
  const bool all_links =
      node.interconnect == Interconnect::all_to_all && pattern != TrafficPattern::send_next;
  return all_links ? link * (size - 1) : link;
}

}  // namespace

std::optional<BytesPerSecond> closed_group_bandwidth(const FabricDescription& description,
                                                     const RankGroups& groups,
                                                     TrafficPattern pattern) {
  const auto [ranks, stride, size] = groups;
  if (size == 1) return BytesPerSecond{std::numeric_limits<double>::infinity()};
  const int devices = description.node.devices;
  if (ranks <= devices || devices % (stride * size) == 0) {
    return bandwidth_in_node(description, size, pattern);
  }
  const auto layout = lay_out(groups, devices);
  if (!layout || description.node.nics == 0) return std::nullopt;
  Bottleneck bottleneck;
  if (!load_node(description, *layout, pattern, bottleneck)) return std::nullopt;
  // The messages of a node to the next node of each of its groups.
  const double crossing =
      pattern == TrafficPattern::send_next && layout->members > 1 ? layout->stride : layout->groups;
  const bool known = std::visit(
      [&](const auto& network) {
        return load_network(description, network, *layout, pattern, crossing, bottleneck);
      },
      description.network);
  if (!known) return std::nullopt;
  return BytesPerSecond{bottleneck.rate};
}

}  // namespace prequel
