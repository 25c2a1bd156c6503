#include "hw/cluster.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

void scale_bandwidth(CollectiveModel& model, double fraction) {
  const auto scale = [fraction](LinkModel& link) { link.bandwidth = link.bandwidth * fraction; };
  scale(model.ring);
  for (CollectiveOverride& override : model.overrides) scale(override.link);
  if (model.tree) scale(*model.tree);
  if (model.nvls) scale(*model.nvls);
}

Seconds network_time(const NetworkModel& network, double steps, Seconds transfer) {
  return network.latency + network.step_latency * steps + transfer +
         Seconds{std::sqrt(network.fill.value * transfer.value)};
}

Seconds ring_over_all(const Cluster& cluster, CollectiveOp op, int ranks, Bytes bytes,
                      BytesPerSecond rate) {
  return network_time(cluster.network, ring_steps(op, ranks),
                      bytes * wire_factor(op, ranks) / rate);
}

/// An all-reduce inside the nodes and between them; every node holds the same number of ranks.
Seconds hierarchical_all_reduce(const Cluster& cluster, const GroupShape& group, Bytes bytes,
                                BytesPerSecond rate) {
  const auto in_node = static_cast<int>(group.ranks_in_node);
  const double nodes = static_cast<double>(group.ranks) / static_cast<double>(in_node);
  const double steps = 2.0 * std::ceil(std::log2(nodes));
  return collective_time(cluster.node, CollectiveOp::reduce_scatter, in_node, bytes) +
         network_time(cluster.network, steps, bytes * 2.0 / rate) +
         collective_time(cluster.node, CollectiveOp::all_gather, in_node, bytes);
}

bool has_hierarchy(CollectiveOp op, const GroupShape& group) {
  return op == CollectiveOp::all_reduce && group.ranks % group.ranks_in_node == 0;
}

BytesPerSecond rate_of(const GroupShape& group, BytesPerSecond rank_rate_limit) {
  const double rate = group.network_rate.value;
  return {rank_rate_limit.value > 0.0 ? std::min(rate, rank_rate_limit.value) : rate};
}

}  // namespace

Cluster read_cluster(const Document& file) {
  const Cursor root = file.root();
  Cluster cluster;
  expect_schema(root, "prequel/cluster/1");
  cluster.name = root.at("name").text();
  cluster.device = root.at("device").text();
  cluster.software = root.at("software").text();
  cluster.nodes = root.at("nodes").integer(1, 1 << 20);
  cluster.node = read_collectives(root.at("node").at("collectives"));
  const Cursor network = root.at("network");
  cluster.network.efficiency = network.at("efficiency").number({0.0, 1.0, true});
  cluster.network.latency = {network.at("latency_s").number(kNonNegative)};
  cluster.network.step_latency = {network.at("step_latency_s").number(kNonNegative)};
  if (const auto fill = network.find("fill_s")) {
    cluster.network.fill = {fill->number(kNonNegative)};
  }
  FabricDescription fabric = read_fabric(root.at("fabric"));
  cluster.devices_per_node = fabric.node.devices;
  cluster.fabric = std::make_shared<const GroupRates>(std::move(fabric));
  if (const auto host = root.find("host")) {
    cluster.host.memory = host->at("memory").bytes();
    cluster.host.memory_bandwidth = host->at("memory_bandwidth").rate();
  }
  file.finish();
  return cluster;
}

Cluster with_link_fraction(Cluster cluster, LinkClass level, double fraction) {
  FabricDescription fabric = cluster.fabric->description();
  fabric.link_fraction[static_cast<std::size_t>(level)] *= fraction;
  const LinkClass in_node =
      fabric.node.interconnect == Interconnect::host ? LinkClass::pcie : LinkClass::nvlink;
  if (level == in_node) scale_bandwidth(cluster.node, fraction);
  cluster.fabric = std::make_shared<const GroupRates>(std::move(fabric));
  return cluster;
}

GroupShape group_shape(const Cluster& cluster, std::int64_t job_ranks, std::int64_t size,
                       std::int64_t stride, TrafficPattern pattern) {
  const std::int64_t per_node = cluster.devices_per_node;
  GroupShape shape;
  shape.ranks = size;
  shape.ranks_in_node = std::clamp<std::int64_t>((per_node + stride - 1) / stride, 1, size);
  if (shape.ranks_in_node == size) return shape;
  const RankGroups groups = RankGroups::strided(static_cast<int>(job_ranks),
                                                static_cast<int>(stride), static_cast<int>(size));
  shape.network_rate = cluster.network.efficiency * cluster.fabric->rate(groups, pattern);
  return shape;
}

GroupShape lone_group_shape(const Cluster& cluster, std::int64_t ranks, std::int64_t nodes) {
  GroupShape shape;
  shape.ranks = ranks;
  shape.ranks_in_node = std::max<std::int64_t>(1, ranks / nodes);
  if (shape.ranks_in_node == ranks) return shape;
  // Each member brings the NICs of its device; one ring a NIC.
  const NodeFabric& node = cluster.fabric->description().node;
  const double share = static_cast<double>(shape.ranks_in_node) / std::max(1, node.devices);
  const double nics = std::max(1.0, std::min(1.0, share) * node.nics);
  shape.network_rate = cluster.network.efficiency * nics * node.nic.bandwidth;
  return shape;
}

Seconds collective_time(const Cluster& cluster, CollectiveOp op, const GroupShape& group,
                        Bytes bytes, BytesPerSecond rank_rate_limit) {
  if (group.ranks <= 1) return {};
  const int ranks = static_cast<int>(group.ranks);
  if (group.ranks_in_node == group.ranks) return collective_time(cluster.node, op, ranks, bytes);
  const BytesPerSecond rate = rate_of(group, rank_rate_limit);
  const Seconds ring = ring_over_all(cluster, op, ranks, bytes, rate);
  if (!has_hierarchy(op, group)) return ring;
  return std::min(ring, hierarchical_all_reduce(cluster, group, bytes, rate));
}

PriceExplanation explain_collective(const Cluster& cluster, CollectiveOp op,
                                    const GroupShape& group, Bytes bytes) {
  const int ranks = static_cast<int>(group.ranks);
  if (group.ranks_in_node == group.ranks) {
    return explain_collective(cluster.node, op, ranks, bytes);
  }
  const NetworkModel& network = cluster.network;
  const Seconds time = collective_time(cluster, op, group, bytes);
  if (time < ring_over_all(cluster, op, ranks, bytes, group.network_rate)) {
    const Seconds transfer = bytes * 2.0 / group.network_rate;
    return {fmt::format("inside the nodes and a tree over {} of them, {:.1f} GB/s each",
                        group.ranks / group.ranks_in_node, group.network_rate.value / kGB),
            "cluster.network",
            {},
            bytes * 2.0,
            {{"network", transfer}, {"latency and nodes", time - transfer}},
            time};
  }
  const Seconds latency = network.latency + network.step_latency * ring_steps(op, ranks);
  return {fmt::format("ring of {} ranks over the network, {:.1f} GB/s each", ranks,
                      group.network_rate.value / kGB),
          "cluster.network",
          {},
          bytes * wire_factor(op, ranks),
          {{"network", time - latency}, {"latency", latency}},
          time};
}

}  // namespace prequel
