#include "hw/fabric/group_rates.hpp"

#include <algorithm>
#include <variant>

#include "hw/fabric/closed_form.hpp"

namespace prequel {

FabricDescription joined(const FabricDescription& description, int nodes) {
  FabricDescription domain = description;
  domain.node.devices *= nodes;
  domain.node.nics *= nodes;
  // Switches keep their reach in nodes: as many leaves as were apart become one.
  if (auto* tree = std::get_if<FatTree>(&domain.network)) tree->radix *= nodes;
  return domain;
}

int nodes_in_domain(int job_nodes, int domain_nodes) {
  const int most = std::min(job_nodes, domain_nodes);
  for (int nodes = most; 2 * nodes > domain_nodes; --nodes) {
    if (job_nodes % nodes == 0) return nodes;
  }
  return most;
}

GroupRates::GroupRates(const FabricDescription& description, int domain_nodes) {
  by_domain_.push_back(description);
  for (int nodes = 2; nodes <= domain_nodes; ++nodes) {
    by_domain_.push_back(joined(description, nodes));
  }
}

const FabricDescription& GroupRates::description(int ranks) const {
  if (by_domain_.size() == 1) return by_domain_.front();
  const int devices = by_domain_.front().node.devices;
  const int nodes = nodes_in_domain((ranks + devices - 1) / devices, domain_nodes());
  return by_domain_[static_cast<std::size_t>(nodes - 1)];
}

BytesPerSecond GroupRates::rate(const RankGroups& groups, TrafficPattern pattern) const {
  const FabricDescription& fabric = description(groups.ranks);
  if (const auto closed = closed_group_bandwidth(fabric, groups, pattern)) return *closed;
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(groups, pattern);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const int nodes = (groups.ranks + fabric.node.devices - 1) / fabric.node.devices;
  const BytesPerSecond found = group_bandwidth(router(fabric, nodes), groups, pattern);
  known_.emplace(key, found);
  return found;
}

const Router& GroupRates::router(const FabricDescription& description, int nodes) const {
  const auto wanted = std::pair(&description, nodes);
  if (router_of_ != wanted) {
    router_ = std::make_unique<Router>(build_fabric(description, nodes));
    router_of_ = wanted;
  }
  return *router_;
}

}  // namespace prequel
