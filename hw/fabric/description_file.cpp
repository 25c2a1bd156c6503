// Reads the `fabric` object of a cluster file. Each function reads the object whose struct it
// returns.

#include <algorithm>

#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/fabric/description.hpp"

namespace prequel {
namespace {

constexpr Range kEfficiency{0.0, 1.0, true};
constexpr Range kOverSubscription{1.0, 64.0};
constexpr int kMaxRadix = 4096;
constexpr int kMaxNodes = 1 << 20;

int whole(const Cursor& cursor, int min, int max) {
  return static_cast<int>(cursor.integer(min, max));
}

/// Sets `says_latency` where the link states one, which older files do.
BytesPerSecond read_link(const Cursor& cursor, bool& says_latency) {
  const BytesPerSecond nominal = cursor.at("bandwidth").rate();
  if (const auto latency = cursor.find("latency_s")) {
    (void)latency->number(kNonNegative);
    says_latency = true;
  }
  const auto efficiency = cursor.find("efficiency");
  return efficiency ? nominal * efficiency->number(kEfficiency) : nominal;
}

NodeFabric read_node(const Cursor& cursor, bool& says_latency) {
  NodeFabric node;
  node.devices = whole(cursor.at("devices"), 1, 1024);
  const Cursor interconnect = cursor.at("interconnect");
  const Cursor kind = interconnect.at("kind");
  node.interconnect =
      static_cast<Interconnect>(kind.choice({"none", "nvswitch", "all-to-all", "host"}));
  if (node.interconnect != Interconnect::none) {
    node.device_link = read_link(interconnect, says_latency);
  } else if (node.devices > 1) {
    kind.problem("\"none\" joins no devices; expected \"nvswitch\", \"all-to-all\" or \"host\"");
  }
  if (const auto nics = cursor.find("nics")) {
    const Cursor count = nics->at("count");
    node.nics = whole(count, 1, 1024);
    node.nic = read_link(*nics, says_latency);
    node.pcie = read_link(cursor.at("pcie"), says_latency);
    if (node.nics % node.devices != 0 && node.devices % node.nics != 0) {
      count.problem("expected a multiple or a divisor of the node's " +
                    std::to_string(node.devices) + " devices, got " + std::to_string(node.nics));
    }
  }
  return node;
}

FatTree read_fat_tree(const Cursor& cursor, bool& says_latency) {
  FatTree tree;
  tree.levels = whole(cursor.at("levels"), 1, 3);
  tree.radix = whole(cursor.at("radix"), 2, kMaxRadix);
  tree.link = read_link(cursor, says_latency);
  if (const auto rails = cursor.find("rail_optimized")) tree.rail_optimized = rails->boolean();
  if (const auto over = cursor.find("over_subscription")) {
    tree.over_subscription = over->number(kOverSubscription);
  }
  if (const auto over = cursor.find("core_over_subscription")) {
    tree.core_over_subscription = over->number(kOverSubscription);
  }
  return tree;
}

Dragonfly read_dragonfly(const Cursor& cursor, bool& says_latency) {
  Dragonfly dragonfly;
  dragonfly.groups = whole(cursor.at("groups"), 1, kMaxRadix);
  dragonfly.routers = whole(cursor.at("routers"), 1, kMaxRadix);
  dragonfly.nodes_per_router = whole(cursor.at("nodes_per_router"), 1, kMaxRadix);
  dragonfly.global_links = whole(cursor.at("global_links"), 0, kMaxRadix);
  dragonfly.local = read_link(cursor.at("local"), says_latency);
  dragonfly.global = read_link(cursor.at("global"), says_latency);
  const int ports = dragonfly.routers * dragonfly.global_links;
  if (ports < dragonfly.groups - 1) {
    cursor.at("groups").problem("routers x global_links = " + std::to_string(ports) +
                                " links of a group join at most " + std::to_string(ports + 1) +
                                " groups, got " + std::to_string(dragonfly.groups));
  }
  return dragonfly;
}

TorusNetwork read_torus(const Cursor& cursor, bool& says_latency) {
  TorusNetwork torus;
  const Cursor dimensions = cursor.at("dimensions");
  std::int64_t nodes = 1;
  for (const Cursor& entry : dimensions.items()) {
    torus.dimensions.push_back(whole(entry, 1, kMaxNodes));
    nodes = std::min<std::int64_t>(nodes * torus.dimensions.back(), std::int64_t{kMaxNodes} + 1);
  }
  if (torus.dimensions.empty()) dimensions.problem("expected at least one dimension");
  if (nodes > kMaxNodes) {
    dimensions.problem("expected at most " + std::to_string(kMaxNodes) + " nodes");
  }
  torus.link = read_link(cursor, says_latency);
  return torus;
}

/// The index of the switch that `cursor` names; 0, with a problem, if there is none of that name.
int read_switch(const Cursor& cursor, const std::vector<std::string>& switches) {
  const std::string text = cursor.text();
  const auto found = std::find(switches.begin(), switches.end(), text);
  if (found != switches.end()) return static_cast<int>(found - switches.begin());
  cursor.problem("no switch is named \"" + text + "\"" + did_you_mean(text, switches));
  return 0;
}

EdgeList read_edge_list(const Cursor& cursor, int nics, bool& says_latency) {
  EdgeList list;
  for (const Cursor& entry : cursor.at("switches").items()) list.switches.push_back(entry.text());
  for (const Cursor& entry : cursor.at("edges").items()) {
    const Cursor between = entry.at("between");
    const std::vector<Cursor> ends = between.items();
    const BytesPerSecond link = read_link(entry, says_latency);
    std::vector<int> joined;
    for (const Cursor& end : ends) joined.push_back(read_switch(end, list.switches));
    if (joined.size() != 2 || ends[0].text() == ends[1].text()) {
      between.problem("expected the names of two different switches");
      continue;
    }
    list.edges.push_back({joined[0], joined[1], link});
  }
  for (const Cursor& entry : cursor.at("attachments").items()) {
    std::vector<int> attachment;
    if (entry.is_array()) {
      for (const Cursor& nic : entry.items()) {
        attachment.push_back(read_switch(nic, list.switches));
      }
      if (attachment.size() != static_cast<std::size_t>(nics)) {
        entry.problem("expected the switch of each of the node's " + std::to_string(nics) +
                      " NICs");
      }
    } else {
      attachment.assign(static_cast<std::size_t>(nics), read_switch(entry, list.switches));
    }
    list.attachments.push_back(std::move(attachment));
  }
  return list;
}

Network read_network(const Cursor& cursor, int nics, bool& says_latency) {
  const Cursor kind = cursor.at("kind");
  const std::size_t chosen =
      kind.choice({"none", "fat-tree", "dragonfly", "torus", "full-mesh", "edges"});
  if (chosen > 0 && nics == 0) kind.problem("the node has no \"nics\" to join the network with");
  switch (chosen) {
    case 1: return read_fat_tree(cursor, says_latency);
    case 2: return read_dragonfly(cursor, says_latency);
    case 3: return read_torus(cursor, says_latency);
    case 4: return FullMesh{read_link(cursor, says_latency)};
    case 5: return read_edge_list(cursor, nics, says_latency);
    default: return NoNetwork{};
  }
}

}  // namespace

FabricDescription read_fabric(const Cursor& cursor) {
  FabricDescription description;
  bool& says_latency = description.links_say_latency;
  description.node = read_node(cursor.at("node"), says_latency);
  description.network = read_network(cursor.at("network"), description.node.nics, says_latency);
  return description;
}

}  // namespace prequel
