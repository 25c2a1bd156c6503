#pragma once

/// Bandwidths of groups for those who ask often.

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hw/fabric/description.hpp"
#include "hw/fabric/placement.hpp"
#include "hw/fabric/traffic.hpp"

namespace prequel {

/// The bandwidth of groups on one fabric, of whatever number of nodes their ranks fill: by closed
/// form where there is one, else over the graph, once. May be asked by several threads.
class GroupRates {
 public:
  explicit GroupRates(FabricDescription description) : description_(std::move(description)) {}

  [[nodiscard]] const FabricDescription& description() const { return description_; }
  /// As `group_bandwidth`. Throws InputError when the network cannot hold the ranks.
  [[nodiscard]] BytesPerSecond rate(const RankGroups& groups, TrafficPattern pattern) const;

 private:
  [[nodiscard]] const Router& router(int nodes) const;

  FabricDescription description_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::map<std::pair<RankGroups, TrafficPattern>, BytesPerSecond> known_;
  mutable std::unique_ptr<Router> router_;  ///< the last one that was needed
  mutable int router_nodes_{};
};

}  // namespace prequel
