#include "hw/fabric/max_min.hpp"

#include <algorithm>
#include <limits>

namespace prequel {
namespace {

constexpr double kGrowing = -1.0;       // the rate of a flow that has not stopped yet
constexpr double kSameInstant = 1e-12;  // links that fill up together but for rounding

}  // namespace

void MaxMinSolver::collect_links(std::span<const double> capacities, const FlowRoutes& routes) {
  used_.clear();
  index_.resize(capacities.size(), 0);
  for (std::size_t flow = 0; flow < routes.size(); ++flow) {
    for (const LinkShare& part : routes[flow]) {
      if (index_[part.link] == 0) {
        used_.push_back({part.link, capacities[part.link], 0.0, 0, 0, 0});
        index_[part.link] = static_cast<std::uint32_t>(used_.size());
      }
      UsedLink& link = used_[index_[part.link] - 1];
      link.weight += part.share;
      ++link.growing;
    }
  }
  std::uint32_t begin = 0;
  for (UsedLink& link : used_) {
    link.begin = link.end = begin;
    begin += link.growing;
  }
  flows_.resize(begin);
  for (std::size_t flow = 0; flow < routes.size(); ++flow) {
    for (const LinkShare& part : routes[flow]) {
      flows_[used_[index_[part.link] - 1].end++] = static_cast<std::uint32_t>(flow);
    }
  }
}

/// Stops all flows that still grow on a full link; returns how many they are.
std::size_t MaxMinSolver::stop_flows(UsedLink& full, double rate, const FlowRoutes& routes,
                                     std::vector<double>& rates) {
  std::size_t stopped = 0;
  for (std::uint32_t i = full.begin; i < full.end; ++i) {
    const std::uint32_t flow = flows_[i];
    if (rates[flow] != kGrowing) continue;
    rates[flow] = rate;
    ++stopped;
    for (const LinkShare& part : routes[flow]) {
      UsedLink& link = used_[index_[part.link] - 1];
      link.room = std::max(0.0, link.room - part.share * rate);
      link.weight -= part.share;
      --link.growing;
    }
  }
  return stopped;
}

void MaxMinSolver::solve(std::span<const double> capacities, const FlowRoutes& routes,
                         std::vector<double>& rates) {
  collect_links(capacities, routes);
  rates.assign(routes.size(), kGrowing);
  std::size_t growing = routes.size();
  for (std::size_t flow = 0; flow < routes.size(); ++flow) {
    if (!routes[flow].empty()) continue;
    rates[flow] = std::numeric_limits<double>::infinity();
    --growing;
  }
  active_.resize(used_.size());
  for (std::size_t i = 0; i < used_.size(); ++i) active_[i] = static_cast<std::uint32_t>(i);

  while (growing > 0) {
    std::erase_if(active_, [&](std::uint32_t i) { return used_[i].growing == 0; });
    double rate = std::numeric_limits<double>::infinity();
    for (const std::uint32_t i : active_) rate = std::min(rate, used_[i].full_at());
    for (const std::uint32_t i : active_) {
      UsedLink& link = used_[i];
      if (link.growing == 0 || link.full_at() > rate * (1.0 + kSameInstant)) continue;
      growing -= stop_flows(link, rate, routes, rates);
    }
  }
  for (const UsedLink& link : used_) index_[link.id] = 0;
}

std::vector<double> max_min_rates(std::span<const double> capacities, const FlowRoutes& routes) {
  std::vector<double> rates;
  MaxMinSolver().solve(capacities, routes, rates);
  return rates;
}

std::vector<double> link_capacities(const Fabric& fabric) {
  std::vector<double> capacities;
  capacities.reserve(fabric.links().size());
  for (const Link& link : fabric.links()) capacities.push_back(link.bandwidth.value);
  return capacities;
}

}  // namespace prequel
