#include "hw/cluster.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "hw/dispatch_model.hpp"

namespace prequel {
namespace {

/// The collectives of the links that join a group's blocks.
const CollectiveModel& device_links(const Cluster& cluster, const GroupShape& group) {
  return cluster.domain && group.ranks_in_domain > group.ranks_in_node ? *cluster.domain
                                                                       : cluster.node;
}

/// Members of the group that begins at rank 0 among the first `devices` ranks.
std::int64_t members_within(const RankGroups& groups, std::int64_t devices) {
  return std::clamp<std::int64_t>((devices + groups.stride - 1) / groups.stride, 1, groups.size);
}

/// Rates without other groups: a ring a NIC, other traffic by the NICs of each member.
BytesPerSecond lone_rate(const Cluster& cluster, const GroupShape& group, TrafficPattern pattern) {
  const NodeFabric& node = cluster.fabric->description().node;
  const auto members = static_cast<double>(group.ranks_in_node);
  const double share = std::min(1.0, members / node.devices);
  const double nics = std::max(1.0, share * node.nics);
  const auto nodes_in_domain = static_cast<double>(group.ranks_in_domain) / members;
  if (pattern == TrafficPattern::ring) return node.nic * (nics * nodes_in_domain);
  const BytesPerSecond own = node.nic * (nics / members);
  if (pattern == TrafficPattern::send_next) return own;
  return own * (static_cast<double>(group.ranks - 1) /
                static_cast<double>(group.ranks - group.ranks_in_domain));
}

void read_domain(const Cursor& root, Cluster& cluster, int& domain_nodes) {
  const auto domain = root.find("domain");
  if (!domain) return;
  domain_nodes = static_cast<int>(domain->at("nodes").integer(1, 1024));
  if (const auto collectives = domain->find("collectives")) {
    cluster.domain = read_collectives(*collectives);
  }
}

NetworkModel read_network_model(const Cursor& cursor) {
  NetworkModel network;
  network.efficiency = cursor.at("efficiency").number({0.0, 1.0, true});
  network.link.latency = {cursor.at("latency_s").number(kNonNegative)};
  network.link.step = {cursor.at("step_latency_s").number(kNonNegative)};
  if (const auto fill = cursor.find("fill_s")) network.link.fill = {fill->number(kNonNegative)};
  if (const auto rings = cursor.find("rings")) {
    network.rings = static_cast<int>(rings->integer(1, 1024));
  }
  if (const auto pat = cursor.find("pat")) network.pat = pat->boolean();
  if (const auto transport = cursor.find("transport")) {
    network.transport = transport->word<Transport>();
  }
  return network;
}

Levels levels_of(const Cluster& cluster, const GroupShape& group, CollectiveOp op,
                 BytesPerSecond rank_rate_limit) {
  Levels levels;
  levels.ranks = static_cast<int>(group.ranks);
  levels.members = static_cast<int>(group.ranks_in_domain);
  levels.device = &device_links(cluster, group);
  levels.pat = cluster.network.pat;
  if (!levels.crosses()) return levels;
  levels.network = cluster.network.link;
  BytesPerSecond& rate = levels.network.bandwidth;
  rate = network_rate(cluster, group, pattern_of(op));
  if (rank_rate_limit.value > 0.0) rate = std::min(rate, rank_rate_limit);
  return levels;
}

}  // namespace

Cluster read_cluster(const Document& file) {
  const Cursor root = file.root();
  Cluster cluster;
  expect_schema(root, "prequel/cluster/1");
  cluster.name = root.at("name").text();
  if (const auto asked = root.find("stands_for")) cluster.stands_for = asked->text();
  static_cast<void>(root.find("edited"));  // which of its constants are the user's: Library
  cluster.device = root.at("device").text();
  cluster.software = root.at("software").text();
  if (const auto experts = root.find("expert_software")) cluster.expert_software = experts->text();
  cluster.nodes = root.at("nodes").integer(1, 1 << 20);
  cluster.node = read_collectives(root.at("node").at("collectives"));
  int domain_nodes = 1;
  read_domain(root, cluster, domain_nodes);
  if (const auto dispatch = root.find("dispatch")) {
    cluster.dispatch = std::make_shared<const DispatchModels>(read_dispatch(*dispatch));
  }
  cluster.network = read_network_model(root.at("network"));
  const FabricDescription fabric = read_fabric(root.at("fabric"));
  cluster.devices_per_node = fabric.node.devices;
  cluster.fabric = std::make_shared<const GroupRates>(fabric, domain_nodes);
  if (const auto host = root.find("host")) {
    cluster.host.memory = host->at("memory").bytes();
    cluster.host.memory_bandwidth = host->at("memory_bandwidth").rate();
    if (const auto factor = host->find("launch_factor")) {
      cluster.host.launch_factor = factor->number(kPositive);
    }
  }
  cluster.site = read_stated_site(root);
  // The file also holds the site's history for validation: changes from a day on, and the build of
  // a release that its tables of runs mean.
  if (const auto changes = root.find("changes")) {
    for (const Cursor& change : changes->items()) {
      (void)change.at("from").text();
      if (!change.at("change").is_object()) change.problem("change: expected an object");
      (void)change.find("origin");
    }
  }
  if (const auto builds = root.find("builds")) {
    for (const auto& [release, build] : builds->members()) (void)build.text();
  }
  file.finish();
  cluster.spreads = file.spreads();
  return cluster;
}

std::string contradiction(const Cluster& cluster) {
  constexpr double kRounding = 1.02;
  const NodeFabric& node = cluster.fabric->description().node;
  if (node.devices == 1) return {};
  const double links = node.interconnect == Interconnect::all_to_all ? node.devices - 1.0 : 1.0;
  const BytesPerSecond carried = node.device_link * links;
  const BytesPerSecond ring = cluster.node.ring.bandwidth;
  if (ring <= carried * kRounding) return {};
  return fmt::format(
      "{}: collectives inside a node run at {:.0f} GB/s (node.collectives.bandwidth), but its "
      "interconnect carries {:.0f} GB/s (fabric.node.interconnect.bandwidth); change both",
      cluster.name, ring.value / kGB, carried.value / kGB);
}

std::string unused_numbers(const Cluster& cluster) {
  if (!cluster.fabric->description().links_say_latency) return {};
  return cluster.name +
         ": latency_s of the fabric's links is not used, since collectives have theirs over the "
         "whole way (node.collectives.latency_s, network.latency_s, network.step_latency_s)";
}

Cluster with_device_links(Cluster cluster, double fraction) {
  cluster.node = scaled(std::move(cluster.node), fraction);
  if (cluster.domain) cluster.domain = scaled(*std::move(cluster.domain), fraction);
  if (cluster.dispatch) {
    cluster.dispatch = std::make_shared<const DispatchModels>(scaled(*cluster.dispatch, fraction));
  }
  return cluster;
}

Cluster with_link_fraction(Cluster cluster, LinkClass level, double fraction) {
  FabricDescription fabric = cluster.fabric->description();
  fabric.link_fraction[static_cast<std::size_t>(level)] *= fraction;
  const LinkClass in_node =
      fabric.node.interconnect == Interconnect::host ? LinkClass::pcie : LinkClass::nvlink;
  if (level == in_node) cluster = with_device_links(std::move(cluster), fraction);
  cluster.fabric = std::make_shared<const GroupRates>(fabric, cluster.fabric->domain_nodes());
  return cluster;
}

GroupShape group_shape(const Cluster& cluster, std::int64_t job_ranks, std::int64_t size,
                       std::int64_t stride) {
  const RankGroups groups{static_cast<int>(job_ranks), static_cast<int>(stride),
                          static_cast<int>(size)};
  GroupShape shape;
  shape.groups = groups;
  shape.ranks = size;
  shape.ranks_in_node = members_within(groups, cluster.devices_per_node);
  // Without a fabric, device links end at the node.
  shape.ranks_in_domain =
      cluster.fabric
          ? members_within(groups, cluster.fabric->description(groups.ranks).node.devices)
          : shape.ranks_in_node;
  return shape;
}

GroupShape lone_group_shape(const Cluster& cluster, std::int64_t ranks, std::int64_t nodes) {
  GroupShape shape;
  shape.ranks = ranks;
  shape.ranks_in_node = std::max<std::int64_t>(1, ranks / nodes);
  shape.ranks_in_domain = shape.ranks_in_node *
                          nodes_in_domain(static_cast<int>(nodes), cluster.fabric->domain_nodes());
  shape.alone = true;
  return shape;
}

BytesPerSecond network_rate(const Cluster& cluster, const GroupShape& group,
                            TrafficPattern pattern) {
  const NetworkModel& network = cluster.network;
  BytesPerSecond rate = group.alone ? lone_rate(cluster, group, pattern)
                                    : cluster.fabric->rate(group.groups, pattern);
  if (network.rings > 0 && pattern == TrafficPattern::ring) {
    rate = std::min(rate, cluster.fabric->description().node.nic * network.rings);
  }
  return rate * network.efficiency;
}

TrafficPattern pattern_of(CollectiveOp op) {
  if (op == CollectiveOp::all_to_all) return TrafficPattern::all_to_all;
  if (op == CollectiveOp::send_recv) return TrafficPattern::send_next;
  return TrafficPattern::ring;
}

CollectivePrice price(const Cluster& cluster, CollectiveOp op, const GroupShape& group, Bytes bytes,
                      BytesPerSecond rank_rate_limit) {
  if (group.ranks <= 1) return {};
  return cheapest(op, levels_of(cluster, group, op, rank_rate_limit), bytes);
}

Seconds collective_time(const Cluster& cluster, CollectiveOp op, const GroupShape& group,
                        Bytes bytes, BytesPerSecond rank_rate_limit) {
  return price(cluster, op, group, bytes, rank_rate_limit).time();
}

CollectivePrice price_hop(const Cluster& cluster, const GroupShape& pipeline, std::int64_t from,
                          std::int64_t to, Bytes bytes) {
  const std::int64_t block = cluster.fabric->description(pipeline.groups.ranks).node.devices;
  Levels levels = levels_of(cluster, pipeline, CollectiveOp::send_recv, {});
  levels.ranks = 2;
  levels.members = from / block == to / block ? 2 : 1;
  return cheapest(CollectiveOp::send_recv, levels, bytes);
}

PriceExplanation explain_collective(const Cluster& cluster, CollectiveOp op,
                                    const GroupShape& group, Bytes bytes) {
  const CollectivePrice cost = price(cluster, op, group, bytes);
  const bool crosses = group.crosses_network();
  return {fmt::format("{} of {} ranks {}", cost.algorithm, group.ranks,
                      crosses ? "over the network" : "over device links"),
          crosses ? "cluster.network" : "cluster.node.collectives",
          {},
          cost.sent,
          {{"links", cost.device}, {"network", cost.network}, {"latency", cost.latency}},
          cost.time()};
}

}  // namespace prequel
