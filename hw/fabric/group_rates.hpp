#pragma once

/// Bandwidths of groups for those who ask often.

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hw/fabric/description.hpp"
#include "hw/fabric/rank_groups.hpp"
#include "hw/fabric/traffic.hpp"

namespace prequel {

/// The fabric with each `nodes` neighbouring nodes as one whose devices all have links to a common
/// switch: a scale-up domain.
FabricDescription joined(const FabricDescription& description, int nodes);

/// How many neighbouring nodes of a job lie in one domain that could hold `domain_nodes`: a job
/// spreads evenly over domains where that fills more than half of each (128 nodes take 16 of 18 in
/// each of 8), else fills one after the other.
int nodes_in_domain(int job_nodes, int domain_nodes);

/// The bandwidth of groups on one fabric, of whatever number of nodes their ranks fill: by closed
/// form where there is one, else over the graph, once. May be asked by several threads.
class GroupRates {
 public:
  /// `domain_nodes`: nodes whose devices are joined by device links.
  explicit GroupRates(const FabricDescription& description, int domain_nodes = 1);

  /// Node by node.
  [[nodiscard]] const FabricDescription& description() const { return by_domain_.front(); }
  /// As a job of so many ranks finds it: what its domains join is one node.
  [[nodiscard]] const FabricDescription& description(int ranks) const;
  [[nodiscard]] int domain_nodes() const { return static_cast<int>(by_domain_.size()); }
  /// As `group_bandwidth`. Throws InputError when the network cannot hold the ranks.
  [[nodiscard]] BytesPerSecond rate(const RankGroups& groups, TrafficPattern pattern) const;

 private:
  [[nodiscard]] const Router& router(const FabricDescription& description, int nodes) const;

  std::vector<FabricDescription> by_domain_;  ///< of 1, 2, … nodes
  mutable std::mutex mutex_;                  ///< of what follows
  mutable std::map<std::pair<RankGroups, TrafficPattern>, BytesPerSecond> known_;
  mutable std::unique_ptr<Router> router_;  ///< the last one that was needed
  mutable std::pair<const FabricDescription*, int> router_of_{};
};

}  // namespace prequel
