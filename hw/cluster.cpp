#include "hw/cluster.hpp"

#include <algorithm>

#include "hw/base/json_cursor.hpp"

namespace prequel {

Cluster read_cluster(const Document& file) {
  const Cursor root = file.root();
  Cluster cluster;
  cluster.name = root.at("name").text();
  cluster.device = root.at("device").text();
  cluster.software = root.at("software").text();
  cluster.nodes = root.at("nodes").integer(1, 1 << 20);
  cluster.devices_per_node = root.at("devices_per_node").integer(1, 1024);
  cluster.node = read_collectives(root.at("node").at("collectives"));
  const Cursor network = root.at("network");
  cluster.network.node_rate = network.at("node_rate").rate();
  cluster.network.efficiency = network.at("efficiency").number({0.0, 1.0, true});
  cluster.network.latency = {network.at("latency_s").number(kNonNegative)};
  cluster.network.step_latency = {network.at("step_latency_s").number(kNonNegative)};
  if (const auto host = root.find("host")) {
    cluster.host.memory = host->at("memory").bytes();
    cluster.host.memory_bandwidth = host->at("memory_bandwidth").rate();
  }
  file.finish();
  return cluster;
}

GroupShape group_shape(std::int64_t size, std::int64_t stride, std::int64_t devices_per_node) {
  GroupShape shape;
  shape.ranks = size;
  shape.ranks_in_node = std::clamp<std::int64_t>((devices_per_node + stride - 1) / stride, 1, size);
  shape.groups_in_node = std::max<std::int64_t>(1, devices_per_node / shape.ranks_in_node);
  return shape;
}

Seconds collective_time(const Cluster& cluster, CollectiveOp op, const GroupShape& group,
                        Bytes bytes, BytesPerSecond rank_rate_limit) {
  if (group.ranks <= 1) return {};
  const int ranks = static_cast<int>(group.ranks);
  if (group.ranks_in_node == group.ranks) return collective_time(cluster.node, op, ranks, bytes);
  const NetworkModel& network = cluster.network;
  double rate =
      network.node_rate.value * network.efficiency / static_cast<double>(group.groups_in_node);
  if (group.ranks_in_node > 1) rate = std::min(rate, cluster.node.ring.bandwidth.value);
  if (rank_rate_limit.value > 0) rate = std::min(rate, rank_rate_limit.value);
  const Bytes wire{bytes.value * wire_factor(op, ranks)};
  return network.latency + network.step_latency * ring_steps(op, ranks) +
         wire / BytesPerSecond{rate};
}

}  // namespace prequel
