#pragma once

/// Fabric as a cluster file describes it, and the graph that follows from it.

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "hw/fabric/graph.hpp"

namespace prequel {

class Cursor;

// Rates of links are what traffic gets of one direction: the nominal rate times its efficiency.

enum class Interconnect : std::uint8_t {
  none,        ///< one device
  nvswitch,    ///< each device has one link to a non-blocking switch
  all_to_all,  ///< each pair of devices has a link
  host         ///< devices and NICs hang on the PCIe root of the host
};

/// The inside of a node. NICs are dealt to the devices in order (8 devices, 4 NICs: two share
/// one); with `Interconnect::host` each device reaches every NIC.
struct NodeFabric {
  int devices{1};
  Interconnect interconnect{};
  BytesPerSecond device_link;  ///< to the switch, to each other device, or to the host
  int nics{};                  ///< a multiple or a divisor of the devices; 0: no network
  BytesPerSecond nic;          ///< of each NIC, to the network
  BytesPerSecond pcie;         ///< of each NIC, to its devices or the host
};

/// One node, or nodes that do not talk.
struct NoNetwork {};

/// Switches of `radix` ports of rate `link` in 1 to 3 levels. A rail-optimized tree joins NIC i of
/// neighbouring nodes on one leaf; a plain one all NICs of a node.
struct FatTree {
  int levels{2};
  int radix{};
  bool rail_optimized{false};
  double over_subscription{1.0};       ///< of a leaf: rate down over rate up
  double core_over_subscription{1.0};  ///< of a spine switch
  BytesPerSecond link;
};

/// Groups of routers: all routers of a group are joined, and all groups are joined. A router serves
/// `nodes_per_router` nodes and has `global_links` links to other groups. Minimal routing.
struct Dragonfly {
  int groups{};
  int routers{};  ///< of one group
  int nodes_per_router{};
  int global_links{};
  BytesPerSecond local;
  BytesPerSecond global;
};

/// An n-dimensional torus with one router a node; node i has the coordinates of i in mixed radix,
/// first dimension fastest. A job takes the first nodes, closed to a torus as job managers do.
struct TorusNetwork {
  std::vector<int> dimensions;
  BytesPerSecond link;
};

/// Every pair of nodes has a link.
struct FullMesh {
  BytesPerSecond link;
};

/// Switches and cables one by one; `attachments[node][nic]` is the switch of each NIC.
struct EdgeList {
  struct Edge {
    int a{};
    int b{};
    BytesPerSecond link;
  };
  std::vector<std::string> switches;
  std::vector<Edge> edges;
  std::vector<std::vector<int>> attachments;
};

using Network = std::variant<NoNetwork, FatTree, Dragonfly, TorusNetwork, FullMesh, EdgeList>;

struct FabricDescription {
  NodeFabric node;
  Network network;
  bool links_say_latency{};  ///< which nothing reads: collectives have theirs over the whole way
  std::array<double, kLinkClasses> link_fraction = full_links();  ///< scales a class of links

  /// `spec` with the fraction of its class.
  [[nodiscard]] BytesPerSecond scaled(LinkClass link_class, BytesPerSecond rate) const {
    return rate * link_fraction[static_cast<std::size_t>(link_class)];
  }
  static constexpr std::array<double, kLinkClasses> full_links() {
    std::array<double, kLinkClasses> fractions{};
    for (double& fraction : fractions) fraction = 1.0;
    return fractions;
  }
};

/// Reads `{"node": {…}, "network": {"kind": …}}`; problems go to the cursor's document. A link is
/// `{"bandwidth", "efficiency"?, "latency_s"?}`.
///
///     node      "devices", "interconnect": {"kind": "none|nvswitch|all-to-all|host", link},
///               "nics"?: {"count", link}, "pcie": link (where there are NICs)
///     network   "kind": "none"
///               "kind": "fat-tree", "levels", "radix", link, "rail_optimized"?,
///                       "over_subscription"?, "core_over_subscription"?
///               "kind": "dragonfly", "groups", "routers", "nodes_per_router", "global_links",
///                       "local": link, "global": link
///               "kind": "torus", "dimensions": […], link
///               "kind": "full-mesh", link
///               "kind": "edges", "switches": [name…], "attachments": [name or [name…]…],
///                       "edges": [{"between": [name, name], link}…]
FabricDescription read_fabric(const Cursor& cursor);

/// The classes of links that the fabric has, inside a node and between nodes.
std::vector<LinkClass> link_levels(const FabricDescription& description);

/// The graph of the first `nodes` nodes. Throws InputError when the network cannot hold them.
Fabric build_fabric(const FabricDescription& description, int nodes);

}  // namespace prequel
