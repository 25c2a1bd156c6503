#pragma once

/// A cluster: nodes of equal devices, the links inside a node and the network between them.

#include <cstdint>
#include <memory>
#include <string>

#include "hw/base/units.hpp"
#include "hw/collectives/collective.hpp"
#include "hw/fabric/group_rates.hpp"

namespace prequel {

class Document;

/// What collectives get of the network, and what they wait for; its rates R are the fabric's:
///
///     transfer = wire / (efficiency·R)
///     t        = latency + step_latency·steps + sqrt(fill·transfer) + transfer
///
/// The form is that of LinkModel.
struct NetworkModel {
  double efficiency{1.0};  ///< share of the fabric's rate that collectives reach
  Seconds latency{};       ///< per collective or message
  Seconds step_latency{};  ///< per step of a ring or tree
  Seconds fill{};          ///< filling of the pipeline; 0: free
};

/// The host beside the devices of one node.
struct HostModel {
  Bytes memory{};
  BytesPerSecond memory_bandwidth{};

  /// Whether the cluster's file tells of it.
  [[nodiscard]] bool known() const { return memory_bandwidth.value > 0; }
};

struct Cluster {
  std::string name;
  std::string device;    ///< name of the device file
  std::string software;  ///< the stack that is usual here
  std::int64_t nodes{};  ///< how many there are
  std::int64_t devices_per_node{};
  CollectiveModel node;  ///< collectives inside a node
  NetworkModel network;
  /// Links and switches, and the rates that groups of ranks get from them; shared by copies.
  std::shared_ptr<const GroupRates> fabric;
  HostModel host;
};

/// Reads a `prequel/cluster/1` file. Throws InputError with every problem of the file.
Cluster read_cluster(const Document& file);

/// The cluster with the links of a level at `fraction` of their bandwidth, above 0: collectives
/// between nodes, and, where they are the links between the devices of a node, inside it.
Cluster with_link_fraction(Cluster cluster, LinkClass level, double fraction);

/// How a communicator lies on the nodes.
struct GroupShape {
  std::int64_t ranks{1};          ///< members of one group
  std::int64_t ranks_in_node{1};  ///< members that share a node
  BytesPerSecond network_rate{};  ///< what each member sends when the group spans nodes
};

/// The groups of `size` ranks whose neighbours are `stride` ranks apart, in a job of `job_ranks`,
/// when all of them communicate at once: the fabric's links are loaded with all their routes.
/// Throws InputError when the network cannot hold the ranks.
GroupShape group_shape(const Cluster& cluster, std::int64_t job_ranks, std::int64_t size,
                       std::int64_t stride, TrafficPattern pattern = TrafficPattern::ring);

/// One group alone, the same number of its ranks on each of `nodes`, as nccl-tests runs.
GroupShape lone_group_shape(const Cluster& cluster, std::int64_t ranks, std::int64_t nodes);

/// Time of one collective of `bytes` (nccl-tests convention: the buffer of an all-reduce, the
/// whole of an all-gather or reduce-scatter) over a group: the node's model when the group lies in
/// one node, else at the fabric's rate for it. `rank_rate_limit`, unless 0, is the most that a
/// stack puts on the network per rank.
///
/// All operations have a ring over all ranks. An all-reduce takes the hierarchy where that is
/// cheaper, as NCCL does with its trees for small messages: reduce-scatter inside each node,
/// all-reduce between the nodes over a double binary tree (2·log2(nodes) steps, twice the message
/// out of every node; Sanders, Speck and Träff 2009), all-gather inside each node.
Seconds collective_time(const Cluster& cluster, CollectiveOp op, const GroupShape& group,
                        Bytes bytes, BytesPerSecond rank_rate_limit = {});

/// The same without a limit, taken apart.
PriceExplanation explain_collective(const Cluster& cluster, CollectiveOp op,
                                    const GroupShape& group, Bytes bytes);

}  // namespace prequel
