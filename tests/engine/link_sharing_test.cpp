#include "sim/engine/link_sharing.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>

#include "tests/engine/max_min_rates.hpp"
#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;

namespace {

/// Routes over whole links.
Routes over(const std::vector<std::vector<LinkId>>& links) {
  Routes routes;
  for (const auto& flow : links) {
    std::vector<LinkShare> parts;
    for (const LinkId link : flow) parts.push_back({link, 1.0});
    routes.add(parts);
  }
  return routes;
}

void check_rates(const std::vector<double>& capacities, const Routes& routes,
                 const std::vector<double>& expected) {
  const std::vector<double> rates = max_min_rates(capacities, routes);
  REQUIRE(rates.size() == expected.size());
  for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == doctest::Approx(expected[i]));
}

/// The load of a link, and the highest rate on it.
struct LinkUse {
  double load{};
  double highest{};
};

std::vector<LinkUse> uses(std::size_t links, const Routes& routes,
                          const std::vector<double>& rates) {
  std::vector<LinkUse> found(links);
  for (RouteId flow = 0; flow < routes.size(); ++flow) {
    for (const LinkShare& part : routes[flow]) {
      found[part.link].load += part.share * rates[flow];
      found[part.link].highest = std::max(found[part.link].highest, rates[flow]);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("flows on one link share it evenly") {
  check_rates({12.0}, over({{0}, {0}, {0}}), {4.0, 4.0, 4.0});
}

TEST_CASE("what a flow cannot use elsewhere goes to the others") {
  // Flow 0 is held to 1 by link 1; flow 1 gets the rest of link 0.
  check_rates({10.0, 1.0}, over({{0, 1}, {0}}), {1.0, 9.0});
}

TEST_CASE("one long flow over a line of links yields to a short one on each") {
  check_rates({2.0, 2.0, 2.0}, over({{0, 1, 2}, {0}, {1}, {2}}), {1.0, 1.0, 1.0, 1.0});
  check_rates({2.0, 6.0, 4.0}, over({{0, 1, 2}, {0}, {1}, {2}}), {1.0, 1.0, 5.0, 3.0});
}

TEST_CASE("a flow that is split puts only its share on a link") {
  Routes routes;
  routes.add(std::vector<LinkShare>{{0, 0.5}, {1, 0.5}});
  routes.add(std::vector<LinkShare>{{0, 1.0}});
  // r + r/2 = 3 fills link 0 at r = 2.
  check_rates({3.0, 3.0}, routes, {2.0, 2.0});
}

TEST_CASE("a flow without links is not held back, one over a dead link stands still") {
  const std::vector<double> rates = max_min_rates(std::vector{0.0, 5.0}, over({{}, {0, 1}, {1}}));
  CHECK(std::isinf(rates[0]));
  CHECK(rates[1] == 0.0);
  CHECK(rates[2] == doctest::Approx(5.0));
}

TEST_CASE("when a flow ends, those it shared links with get its part, and theirs in turn") {
  const std::vector<double> capacities{2.0, 6.0, 4.0};
  const Routes routes = over({{0, 1, 2}, {0}, {1}, {2}});
  LinkSharing sharing(capacities, routes);
  for (RouteId route = 0; route < 4; ++route) sharing.add(route);
  sharing.update();
  sharing.remove(1);
  sharing.update();
  CHECK(sharing.rate(0) == 2.0);
  CHECK(sharing.rate(2) == 4.0);
  CHECK(sharing.rate(3) == 2.0);
}

TEST_CASE("only routes that share a link with a change are looked at") {
  const std::vector<double> capacities{2.0, 6.0};
  const Routes routes = over({{0}, {0}, {1}});
  LinkSharing sharing(capacities, routes);
  sharing.add(0);
  sharing.add(2);
  sharing.update();
  sharing.add(1);
  const auto changed = sharing.update();
  CHECK(std::set(changed.begin(), changed.end()) == std::set<RouteId>{0, 1});
  CHECK(sharing.update().empty());
}

TEST_CASE("two flows on one route count twice") {
  const std::vector<double> capacities{6.0};
  const Routes routes = over({{0}, {0}});
  LinkSharing sharing(capacities, routes);
  sharing.add(0);
  sharing.add(0);
  sharing.add(1);
  sharing.update();
  CHECK(sharing.rate(0) == 2.0);
  sharing.remove(0);
  sharing.update();
  CHECK(sharing.rate(0) == 3.0);
}

TEST_CASE("links that all routes load alike become one, and rates stay as they were") {
  std::mt19937 random(12);
  const Router router = dgx_cluster(8, 4, fat_tree(2, 3.0));
  LinkedRoutes linked{link_capacities(router.fabric()), {}};
  while (linked.routes.size() < 60) {
    const auto from = static_cast<std::uint32_t>(random() % 64);
    const auto to = static_cast<std::uint32_t>(random() % 64);
    if (from != to) linked.routes.add(router.route(from, to));
  }
  const LinkedRoutes merged = merge_alike(linked);
  CHECK(merged.capacities.size() < linked.capacities.size() / 2);
  for (RouteId route = 0; route < merged.routes.size(); ++route) {
    CHECK(merged.routes[route].size() <= 8);
  }
  const auto rates = max_min_rates(merged.capacities, merged.routes);
  const auto expected = max_min_rates(linked.capacities, linked.routes);
  for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == doctest::Approx(expected[i]));
}

TEST_CASE("rates kept up to date are those computed afresh") {
  std::mt19937 random(11);
  const Router router = dgx_cluster(8, 4, fat_tree(2, 3.0));
  const std::vector<double> capacities = link_capacities(router.fabric());
  std::uniform_int_distribution<std::uint32_t> device(0, 63);
  Routes all;
  while (all.size() < 60) {
    const std::uint32_t from = device(random);
    const std::uint32_t to = device(random);
    if (from != to) all.add(router.route(from, to));
  }
  LinkSharing sharing(capacities, all);
  std::vector<bool> runs(all.size());
  for (int round = 0; round < 100; ++round) {
    for (int changes = 0; changes < 3; ++changes) {
      const auto route = static_cast<RouteId>(random() % all.size());
      runs[route] ? sharing.remove(route) : sharing.add(route);
      runs[route] = !runs[route];
    }
    sharing.update();
    Routes running;
    for (RouteId route = 0; route < all.size(); ++route) {
      if (runs[route]) running.add(all[route]);
    }
    const std::vector<double> afresh = max_min_rates(capacities, running);
    std::size_t next = 0;
    for (RouteId route = 0; route < all.size(); ++route) {
      if (runs[route]) CHECK(sharing.rate(route) == doctest::Approx(afresh[next++]));
    }
  }
}

TEST_CASE("random flows: no link is over-full and every flow has its bottleneck") {
  std::mt19937 random(7);
  const Router router = dgx_cluster(8, 4, fat_tree(2, 3.0));
  const std::vector<double> capacities = link_capacities(router.fabric());
  std::uniform_int_distribution<std::uint32_t> device(0, 63);
  for (int round = 0; round < 20; ++round) {
    Routes routes;
    while (routes.size() < 60) {
      const std::uint32_t from = device(random);
      const std::uint32_t to = device(random);
      if (from != to) routes.add(router.route(from, to));
    }
    const std::vector<double> rates = max_min_rates(capacities, routes);
    const std::vector<LinkUse> use = uses(capacities.size(), routes, rates);
    for (std::size_t link = 0; link < use.size(); ++link) {
      CHECK(use[link].load <= capacities[link] * (1 + 1e-9));
    }
    for (RouteId flow = 0; flow < routes.size(); ++flow) {
      bool has_bottleneck = false;
      for (const LinkShare& part : routes[flow]) {
        const LinkUse& on = use[part.link];
        has_bottleneck |=
            on.load >= capacities[part.link] * (1 - 1e-9) && on.highest <= rates[flow] * (1 + 1e-9);
      }
      CHECK(has_bottleneck);
    }
  }
}

TEST_CASE("flows that all send alike get the group's bandwidth at least") {
  const Router router = dgx_cluster(8, 4, fat_tree(2, 2.0));
  Routes routes;
  for (std::uint32_t device = 0; device < 64; ++device) {
    routes.add(router.route(device, (device + 32) % 64));
  }
  const std::vector<double> rates = max_min_rates(link_capacities(router.fabric()), routes);
  const double group = rate(router, 32, 2);
  for (const double each : rates) CHECK(each >= group * (1 - 1e-9));
}
