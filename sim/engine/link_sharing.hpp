#pragma once

/// How flows share links: max-min fairness, kept up to date while flows come and go.

#include <cstdint>
#include <span>
#include <vector>

#include "hw/base/link_share.hpp"

namespace prequel {

using RouteId = std::uint32_t;

/// Routes in compressed rows. A flow takes one; flows of one route have equal rates.
class Routes {
 public:
  RouteId add(std::span<const LinkShare> route) {
    parts_.insert(parts_.end(), route.begin(), route.end());
    begins_.push_back(static_cast<std::uint32_t>(parts_.size()));
    return static_cast<RouteId>(size() - 1);
  }
  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] std::span<const LinkShare> operator[](RouteId route) const {
    return std::span(parts_).subspan(begins_[route], begins_[route + 1] - begins_[route]);
  }

 private:
  std::vector<LinkShare> parts_;
  std::vector<std::uint32_t> begins_{0};
};

/// Links and the routes over them.
struct LinkedRoutes {
  std::vector<double> capacities;  ///< by LinkId, 0 for a dead link
  Routes routes;
};

/// The same with one link in place of all that every route loads alike, such as the links from a
/// leaf to its spines: of the capacity of the tightest. Rates stay the same.
LinkedRoutes merge_alike(const LinkedRoutes& linked);

/// The max-min fair rates r of flows, with a(f,l) the share of flow f on link l:
///
///     sum over f of a(f,l)·r(f) <= capacity(l)                           for each link l
///     each flow f has a bottleneck: a link l with a(f,l) > 0 that is full, and on which no
///     other flow g has r(g) > r(f)
///
/// by progressive filling: all rates grow alike; when a link is full, the flows on it stop.
/// Source: Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2.
///
/// Rates can change only on links where flows have come, or gone while the link was full, and on
/// what those links are joined to by other flows: only that is filled anew. Rates that differ by
/// less than 1e-9 are taken as equal.
class LinkSharing {
 public:
  /// `capacities` by LinkId, 0 for a dead link; both arguments must outlive this.
  LinkSharing(std::span<const double> capacities, const Routes& routes);

  /// A flow begins, or one of those that run ends. Rates are as they were until `update`.
  void add(RouteId route);
  void remove(RouteId route);

  /// Brings the rates up to date. Returns the routes with flows that have changed their rate or
  /// number, those of equal rate next to one another; valid until the next update.
  std::span<const RouteId> update();

  /// Returns the rate of each flow on the route, in the unit of the capacities; infinite where it
  /// has no links.
  [[nodiscard]] double rate(RouteId route) const { return used_[route].rate; }

 private:
  struct UsedRoute {
    double rate{};
    std::uint32_t flows{};
    std::uint32_t found{};  ///< the last update that reached it
    bool listed = false;    ///< on its links
    bool touched = false;   ///< flows have come or gone
    bool grown = false;     ///< some have come
    bool growing = false;   ///< in the filling
  };
  struct UsedLink {
    double room{};            ///< what stopped flows leave
    double weight{};          ///< sum of the shares of flows that still grow
    std::uint32_t growing{};  ///< how many routes they are on
    std::uint32_t found{};
    bool full = false;    ///< it has stopped flows
    bool shrunk = false;  ///< routes have left it
    std::vector<RouteId> routes;
    [[nodiscard]] double full_at() const { return room / weight; }
  };
  /// A link to look at when the rates have grown so far.
  struct Filling {
    double full_at{};
    LinkId link{};
    bool operator>(const Filling& other) const { return full_at > other.full_at; }
  };

  void touch(RouteId route);
  void reach_change(RouteId route);
  void reach_routes(LinkId link);
  void reach(LinkId link);
  void drop_routes(LinkId link);
  void fill();
  void stop_flows(LinkId full, double rate);

  std::span<const double> capacities_;
  const Routes& routes_;
  std::vector<UsedRoute> used_;
  std::vector<UsedLink> shared_;
  std::vector<RouteId> touched_;
  std::vector<RouteId> changed_;
  std::vector<LinkId> shrunk_;
  std::vector<LinkId> links_;  ///< that the present update has reached
  std::vector<Filling> heap_;
  std::uint32_t updates_ = 0;
};

}  // namespace prequel
