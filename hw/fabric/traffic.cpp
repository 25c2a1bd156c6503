#include "hw/fabric/traffic.hpp"

#include <algorithm>
#include <limits>

namespace prequel {
namespace {

using Members = std::vector<std::uint32_t>;

constexpr std::size_t kFlowsAtOnce = 1 << 18;  // keeps the memory of an all-to-all small

/// The members by node.
std::vector<Members> by_node(const Fabric& fabric, const std::vector<int>& members) {
  std::vector<Members> nodes;
  std::int32_t last = Vertex::kNoNode;
  for (const int member : members) {
    const auto device = static_cast<std::uint32_t>(member);
    const std::int32_t node = fabric.vertices()[fabric.devices()[device]].node;
    if (nodes.empty() || node != last) nodes.emplace_back();
    nodes.back().push_back(device);
    last = node;
  }
  return nodes;
}

/// The members by which rings leave and enter a node: as many as have a NIC to themselves.
Members ring_ends(const Router& router, const Members& members) {
  Members ends;
  std::vector<LinkId> taken;
  for (const std::uint32_t member : members) {
    for (const LinkId exit : router.exits(member)) {
      if (std::find(taken.begin(), taken.end(), exit) != taken.end()) continue;
      taken.push_back(exit);
      ends.push_back(member);
      break;
    }
  }
  return ends;
}

void add_all_pairs(const Members& members, double rate, std::vector<Flow>& flows) {
  for (const std::uint32_t to : members) {
    for (const std::uint32_t from : members) {
      if (from != to) flows.push_back({from, to, rate});
    }
  }
}

void add_ring(const Router& router, const std::vector<int>& group, std::vector<Flow>& flows) {
  const std::vector<Members> nodes = by_node(router.fabric(), group);
  const bool crosses = nodes.size() > 1;
  std::size_t rings = std::numeric_limits<std::size_t>::max();
  std::vector<Members> ends;
  for (const Members& members : nodes) {
    const auto size = static_cast<double>(members.size());
    add_all_pairs(members, 1.0 / (crosses ? size : size - 1.0), flows);
    if (!crosses) return;
    ends.push_back(ring_ends(router, members));
    rings = std::min(rings, ends.back().size());
  }
  for (std::size_t node = 0; node < ends.size(); ++node) {
    const Members& next = ends[(node + 1) % ends.size()];
    for (std::size_t ring = 0; ring < rings; ++ring) {
      flows.push_back({ends[node][ring], next[ring], 1.0 / static_cast<double>(rings)});
    }
  }
}

void add_group(const Router& router, const std::vector<int>& members, TrafficPattern pattern,
               std::vector<Flow>& flows) {
  if (members.size() < 2) return;
  switch (pattern) {
    case TrafficPattern::ring: return add_ring(router, members, flows);
    case TrafficPattern::all_to_all:
      return add_all_pairs(Members(members.begin(), members.end()),
                           1.0 / static_cast<double>(members.size() - 1), flows);
    case TrafficPattern::send_next:
      for (std::size_t i = 0; i + 1 < members.size(); ++i) {
        flows.push_back({static_cast<std::uint32_t>(members[i]),
                         static_cast<std::uint32_t>(members[i + 1]), 1.0});
      }
  }
}

}  // namespace

std::vector<Flow> group_flows(const Router& router, const std::vector<int>& members,
                              TrafficPattern pattern) {
  std::vector<Flow> flows;
  add_group(router, members, pattern, flows);
  return flows;
}

BytesPerSecond group_bandwidth(const Router& router, const RankGroups& groups,
                               TrafficPattern pattern) {
  const std::vector<Link>& links = router.fabric().links();
  std::vector<double> loads(links.size());
  std::vector<Flow> flows;
  for (const int first : groups.firsts()) {
    add_group(router, groups.members(first), pattern, flows);
    if (flows.size() < kFlowsAtOnce) continue;
    router.add_loads(flows, loads);
    flows.clear();
  }
  router.add_loads(flows, loads);

  BytesPerSecond rate{std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (loads[i] > 0.0) rate = std::min(rate, links[i].bandwidth / loads[i]);
  }
  return rate;
}

}  // namespace prequel
