#pragma once

#include <span>
#include <vector>

#include "sim/engine/link_sharing.hpp"

namespace prequel {

/// Returns the rates of one flow on each route.
inline std::vector<double> max_min_rates(std::span<const double> capacities, const Routes& routes) {
  LinkSharing sharing(capacities, routes);
  for (RouteId route = 0; route < routes.size(); ++route) sharing.add(route);
  sharing.update();
  std::vector<double> rates(routes.size());
  for (RouteId route = 0; route < routes.size(); ++route) rates[route] = sharing.rate(route);
  return rates;
}

}  // namespace prequel
