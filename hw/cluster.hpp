#pragma once

/// A cluster: nodes of equal devices, the links inside a node, a scale-up domain of several nodes
/// where there is one, and the network between them.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hw/base/units.hpp"
#include "hw/base/words.hpp"
#include "hw/collectives/algorithms.hpp"
#include "hw/fabric/group_rates.hpp"
#include "hw/site.hpp"
#include "hw/terms/price_explanation.hpp"

namespace prequel {

class Document;
struct DispatchModels;  // hw/dispatch_model.hpp

/// The network's transport between nodes, as libraries that do without NCCL ask for it.
enum class Transport : std::uint8_t { infiniband, roce, efa, slingshot, omni_path, tcp, tofu };
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<Transport>{
    "infiniband", "roce", "efa", "slingshot", "omni-path", "tcp", "tofu"};

/// The share of the network that collectives get, and their waits.
struct NetworkModel {
  double efficiency{1.0};  ///< share of the fabric's rate that collectives reach
  /// Constants; its bandwidth follows from the fabric, the group and what else communicates.
  LinkModel link;
  int rings{};  ///< most rings or trees of a group, each through one NIC of a block; 0: any
  bool pat{};   ///< the library has parallel aggregated trees
  std::optional<Transport> transport{};  ///< where the file tells of it
};

/// The host beside the devices of one node.
struct HostModel {
  Bytes memory{};
  BytesPerSecond memory_bandwidth{};
  double launch_factor{1.0};  ///< time of a launch over that on the hosts that stacks speak of

  /// Tests whether the cluster's file tells of it.
  [[nodiscard]] bool known() const { return memory_bandwidth.value > 0; }
};

struct Cluster {
  std::string name;
  /// The machine that was asked for, where no file of it is known and this one has the same card.
  std::string stands_for;
  std::string device;           ///< name of the device file
  std::string software;         ///< the stack that is usual here
  std::string expert_software;  ///< that of mixtures of experts, where it is another
  std::int64_t nodes{};         ///< how many there are
  std::int64_t devices_per_node{};
  CollectiveModel node;  ///< collectives inside a node
  /// Those over device links beyond a node, where domains span several nodes.
  std::optional<CollectiveModel> domain;
  /// Carrying tokens to their experts; none where the file does not tell of it.
  std::shared_ptr<const DispatchModels> dispatch;
  NetworkModel network;
  /// Links and switches, and the rates that groups of ranks get from them; shared by copies.
  std::shared_ptr<const GroupRates> fabric;
  HostModel host;
  StatedSite site;
  std::vector<StatedSpread> spreads;  ///< of the file's numbers
};

/// The machine's own name, also where another's file stands in for it.
inline const std::string& own_name(const Cluster& cluster) {
  return cluster.stands_for.empty() ? cluster.name : cluster.stands_for;
}

/// The stack that a model of this kind is usually trained by here.
inline const std::string& usual_software(const Cluster& cluster, bool has_experts) {
  return has_experts && !cluster.expert_software.empty() ? cluster.expert_software
                                                         : cluster.software;
}

/// Reads a `prequel/cluster/1` file. Throws InputError with every problem of the file.
Cluster read_cluster(const Document& file);

/// Returns a remark on a cluster whose parts contradict each other, as where collectives are faster
/// than the links that carry them; empty where they agree.
std::string contradiction(const Cluster& cluster);

/// Returns a remark on numbers that a cluster states and no prediction uses; empty where it has
/// none.
std::string unused_numbers(const Cluster& cluster);

/// The cluster with collectives and dispatch over device links at `fraction` of their rate.
Cluster with_device_links(Cluster cluster, double fraction);

/// The cluster with the links of a level at `fraction` of their bandwidth, above 0: collectives
/// between nodes, and, where they are the links between the devices of a node, inside it.
Cluster with_link_fraction(Cluster cluster, LinkClass level, double fraction);

/// How a communicator lies on the cluster.
struct GroupShape {
  RankGroups groups;                ///< with those of its kind that communicate at the same time
  std::int64_t ranks{1};            ///< members of one group
  std::int64_t ranks_in_node{1};    ///< members that share a node
  std::int64_t ranks_in_domain{1};  ///< members that device links join; at least those of a node
  bool alone{false};                ///< no other group communicates

  [[nodiscard]] bool crosses_network() const { return ranks_in_domain < ranks; }
};

/// The groups of `size` ranks whose neighbours are `stride` ranks apart, in a job of `job_ranks`.
GroupShape group_shape(const Cluster& cluster, std::int64_t job_ranks, std::int64_t size,
                       std::int64_t stride);

/// One group alone, the same number of its ranks on each of `nodes`, as nccl-tests runs.
GroupShape lone_group_shape(const Cluster& cluster, std::int64_t ranks, std::int64_t nodes);

/// Returns the rate at which each member sends when a group crosses the network: the fabric's links
/// are loaded with the routes of all groups at once. Throws InputError when the network cannot hold
/// the ranks.
BytesPerSecond network_rate(const Cluster& cluster, const GroupShape& group,
                            TrafficPattern pattern);

/// The traffic of a collective.
TrafficPattern pattern_of(CollectiveOp op);

/// One collective of `bytes` (nccl-tests convention: the buffer of an all-reduce, the whole of an
/// all-gather or reduce-scatter) over a group, by the cheapest algorithm over its levels.
/// `rank_rate_limit`, unless 0, is the most that a stack puts on the network per rank. Throws as
/// `network_rate`.
CollectivePrice price(const Cluster& cluster, CollectiveOp op, const GroupShape& group, Bytes bytes,
                      BytesPerSecond rank_rate_limit = {});

/// The time of `price`.
Seconds collective_time(const Cluster& cluster, CollectiveOp op, const GroupShape& group,
                        Bytes bytes, BytesPerSecond rank_rate_limit = {});

/// The same without a limit, taken apart.
PriceExplanation explain_collective(const Cluster& cluster, CollectiveOp op,
                                    const GroupShape& group, Bytes bytes);

/// A hop of `bytes` from rank `from` to rank `to`, neighbours in a group of the shape `pipeline`,
/// while the other groups make the same hop: over device links where these join the two, else at
/// the network's rate.
CollectivePrice price_hop(const Cluster& cluster, const GroupShape& pipeline, std::int64_t from,
                          std::int64_t to, Bytes bytes);

}  // namespace prequel
