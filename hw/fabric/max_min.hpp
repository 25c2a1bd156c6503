#pragma once

/// How flows share links: max-min fairness.

#include <cstdint>
#include <span>
#include <vector>

#include "hw/fabric/routes.hpp"

namespace prequel {

/// The routes of many flows in compressed rows.
class FlowRoutes {
 public:
  void add(std::span<const LinkShare> route) {
    parts_.insert(parts_.end(), route.begin(), route.end());
    ends_.push_back(static_cast<std::uint32_t>(parts_.size()));
  }
  void clear() {
    parts_.clear();
    ends_.clear();
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::span<const LinkShare> operator[](std::size_t flow) const {
    const std::size_t begin = flow == 0 ? 0 : ends_[flow - 1];
    return std::span(parts_).subspan(begin, ends_[flow] - begin);
  }

 private:
  std::vector<LinkShare> parts_;
  std::vector<std::uint32_t> ends_;
};

/// Solves for the max-min fair rates r of flows, with a(f,l) the share of flow f on link l:
///
///     sum over f of a(f,l)·r(f) <= capacity(l)                           for each link l
///     each flow f has a bottleneck: a link l with a(f,l) > 0 that is full, and on which no
///     other flow g has r(g) > r(f)
///
/// by progressive filling: all rates grow alike; when a link is full, the flows on it stop.
/// Source: Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2. Keeps its memory
/// from one call to the next.
class MaxMinSolver {
 public:
  /// `rates` becomes the rate of each flow, in the unit of the capacities; infinite for a flow
  /// without links. Every link that a route names has a capacity, by LinkId.
  void solve(std::span<const double> capacities, const FlowRoutes& routes,
             std::vector<double>& rates);

 private:
  struct UsedLink {
    LinkId id{};
    double room{};            ///< what stopped flows leave
    double weight{};          ///< sum of the shares of flows that still grow
    std::uint32_t growing{};  ///< how many they are
    std::uint32_t begin{};    ///< its flows, in flows_
    std::uint32_t end{};
    [[nodiscard]] double full_at() const { return room / weight; }
  };

  void collect_links(std::span<const double> capacities, const FlowRoutes& routes);
  std::size_t stop_flows(UsedLink& full, double rate, const FlowRoutes& routes,
                         std::vector<double>& rates);

  std::vector<UsedLink> used_;
  std::vector<std::uint32_t> index_;   ///< of a link in used_, plus 1; 0: not used
  std::vector<std::uint32_t> flows_;   ///< of each used link
  std::vector<std::uint32_t> active_;  ///< used links on which some flow grows
};

/// The same, once.
std::vector<double> max_min_rates(std::span<const double> capacities, const FlowRoutes& routes);

/// Capacity of every link of a fabric, in byte/s.
std::vector<double> link_capacities(const Fabric& fabric);

}  // namespace prequel
