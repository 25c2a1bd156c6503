#include "hw/fabric/group_rates.hpp"

#include "hw/fabric/closed_form.hpp"

namespace prequel {

BytesPerSecond GroupRates::rate(const RankGroups& groups, TrafficPattern pattern) const {
  if (const auto closed = closed_group_bandwidth(description_, groups, pattern)) return *closed;
  const int devices = description_.node.devices;
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(groups, pattern);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const int nodes = (groups.ranks + devices - 1) / devices;
  const BytesPerSecond found = group_bandwidth(router(nodes), groups, pattern);
  known_.emplace(key, found);
  return found;
}

const Router& GroupRates::router(int nodes) const {
  if (router_nodes_ != nodes) {
    router_ = std::make_unique<Router>(build_fabric(description_, nodes));
    router_nodes_ = nodes;
  }
  return *router_;
}

}  // namespace prequel
