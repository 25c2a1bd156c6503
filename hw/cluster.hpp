#pragma once

/// A cluster: nodes of equal devices, the links inside a node and the network between them.

#include <cstdint>
#include <string>

#include "hw/base/units.hpp"
#include "hw/collective.hpp"

namespace prequel {

class Document;

/// What one node puts on the network.
struct NetworkModel {
  BytesPerSecond node_rate{};  ///< all NICs of a node together, one direction, as sold
  double efficiency{1.0};      ///< share of it that collectives reach
  Seconds latency{};           ///< per collective or message
  Seconds step_latency{};      ///< per step of a ring
};

/// The host beside the devices of one node.
struct HostModel {
  Bytes memory{};
  BytesPerSecond memory_bandwidth{};
};

struct Cluster {
  std::string name;
  std::string device;    ///< name of the device file
  std::string software;  ///< the stack that is usual here
  std::int64_t nodes{};  ///< how many there are
  std::int64_t devices_per_node{};
  CollectiveModel node;  ///< collectives inside a node
  NetworkModel network;
  HostModel host;
};

/// Reads a `prequel/cluster/1` file. Throws InputError with every problem of the file.
Cluster read_cluster(const Document& file);

/// How a communicator lies on the nodes.
struct GroupShape {
  std::int64_t ranks{1};           ///< members of one group
  std::int64_t ranks_in_node{1};   ///< members that share a node
  std::int64_t groups_in_node{1};  ///< groups of the same kind that share a node's NICs
};

/// The group of `size` ranks whose neighbours are `stride` ranks apart, when all such groups of
/// nodes of `devices_per_node` communicate at once.
GroupShape group_shape(std::int64_t size, std::int64_t stride, std::int64_t devices_per_node);

/// Time of one collective of `bytes` (nccl-tests convention: the buffer of an all-reduce, the
/// whole of an all-gather or reduce-scatter) over a group: the node's model when the group lies in
/// one node, else one ring over the NICs that its node's groups share. `rank_rate_limit`, unless 0,
/// is the most that a stack makes of them in one ring. `rank_rate_limit`, unless 0,
/// is the most that a stack makes of them in one ring.
Seconds collective_time(const Cluster& cluster, CollectiveOp op, const GroupShape& group,
                        Bytes bytes, BytesPerSecond rank_rate_limit = {});

}  // namespace prequel
