#include "sim/engine/link_sharing.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

namespace prequel {
namespace {

constexpr double kSameRate = 1e-9;  // links that fill up together but for rounding

/// SplitMix64's output function (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// A number for each link that is the same for those that all routes load alike, and, but for a
/// chance in 2^64 a pair, for no others.
std::vector<std::uint64_t> load_marks(const LinkedRoutes& linked) {
  std::vector<std::uint64_t> marks(linked.capacities.size());
  for (RouteId route = 0; route < linked.routes.size(); ++route) {
    for (const LinkShare& part : linked.routes[route]) {
      marks[part.link] += mixed(mixed(route + 1) ^ std::bit_cast<std::uint64_t>(part.share));
    }
  }
  return marks;
}

}  // namespace

LinkedRoutes merge_alike(const LinkedRoutes& linked) {
  const std::vector<std::uint64_t> marks = load_marks(linked);
  LinkedRoutes merged;
  std::unordered_map<std::uint64_t, LinkId> known;
  std::vector<LinkId> place(marks.size());
  std::vector<bool> stays(marks.size());
  for (LinkId link = 0; link < marks.size(); ++link) {
    const auto next = static_cast<LinkId>(merged.capacities.size());
    const auto [found, is_new] = known.try_emplace(marks[link], next);
    place[link] = found->second;
    stays[link] = is_new;
    if (is_new) merged.capacities.push_back(linked.capacities[link]);
    double& capacity = merged.capacities[place[link]];
    capacity = std::min(capacity, linked.capacities[link]);
  }
  std::vector<LinkShare> parts;
  for (RouteId route = 0; route < linked.routes.size(); ++route) {
    parts.clear();
    for (const LinkShare& part : linked.routes[route]) {
      if (stays[part.link]) parts.push_back({place[part.link], part.share});
    }
    merged.routes.add(parts);
  }
  return merged;
}

LinkSharing::LinkSharing(std::span<const double> capacities, const Routes& routes)
    : capacities_(capacities), routes_(routes), used_(routes.size()), shared_(capacities.size()) {}

void LinkSharing::add(RouteId route) {
  UsedRoute& used = used_[route];
  ++used.flows;
  used.grown = true;
  touch(route);
  if (std::exchange(used.listed, true)) return;
  for (const LinkShare& part : routes_[route]) shared_[part.link].routes.push_back(route);
}

void LinkSharing::remove(RouteId route) {
  assert(used_[route].flows > 0);
  --used_[route].flows;
  touch(route);
}

void LinkSharing::touch(RouteId route) {
  if (!std::exchange(used_[route].touched, true)) touched_.push_back(route);
}

std::span<const RouteId> LinkSharing::update() {
  changed_.clear();
  if (touched_.empty()) return changed_;
  ++updates_;
  links_.clear();
  for (const RouteId route : touched_) reach_change(route);
  for (const LinkId link : shrunk_) drop_routes(link);
  for (std::size_t i = 0; i < links_.size(); ++i) reach_routes(links_[i]);
  fill();
  for (const RouteId route : touched_) {
    UsedRoute& used = used_[route];
    if (used.flows > 0 && used.found != updates_) changed_.push_back(route);
    used.touched = used.grown = false;
  }
  touched_.clear();
  shrunk_.clear();
  return changed_;
}

/// A link that was not full makes no other flow faster when a flow leaves it.
void LinkSharing::reach_change(RouteId route) {
  UsedRoute& used = used_[route];
  for (const LinkShare& part : routes_[route]) {
    UsedLink& shared = shared_[part.link];
    if (used.grown || shared.full) reach(part.link);
    if (used.flows == 0 && !std::exchange(shared.shrunk, true)) shrunk_.push_back(part.link);
  }
  if (used.flows == 0) {
    used.listed = false;
    used.rate = 0;
  } else if (routes_[route].empty()) {
    used.rate = std::numeric_limits<double>::infinity();
  }
}

void LinkSharing::drop_routes(LinkId link) {
  std::erase_if(shared_[link].routes, [&](RouteId route) { return !used_[route].listed; });
  shared_[link].shrunk = false;
}

void LinkSharing::reach(LinkId link) {
  UsedLink& shared = shared_[link];
  if (std::exchange(shared.found, updates_) == updates_) return;
  shared.room = capacities_[link];
  shared.weight = 0;
  shared.growing = 0;
  shared.full = false;
  links_.push_back(link);
}

void LinkSharing::reach_routes(LinkId link) {
  for (const RouteId route : shared_[link].routes) {
    UsedRoute& used = used_[route];
    if (std::exchange(used.found, updates_) == updates_) continue;
    used.growing = true;
    for (const LinkShare& part : routes_[route]) {
      reach(part.link);
      shared_[part.link].weight += part.share * used.flows;
      ++shared_[part.link].growing;
    }
  }
}

void LinkSharing::fill() {
  heap_.clear();
  for (const LinkId link : links_) {
    if (shared_[link].growing > 0) heap_.push_back({shared_[link].full_at(), link});
  }
  std::ranges::make_heap(heap_, std::greater());
  double rate = 0;
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater());
    Filling& next = heap_.back();
    const UsedLink& shared = shared_[next.link];
    const double full_at = shared.growing > 0 ? shared.full_at() : 0;
    if (shared.growing > 0 && full_at > next.full_at * (1 + kSameRate)) {
      // Flows have stopped elsewhere and left it more time.
      next.full_at = full_at;
      std::ranges::push_heap(heap_, std::greater());
      continue;
    }
    const LinkId link = next.link;
    heap_.pop_back();
    if (shared.growing == 0) continue;
    if (full_at > rate * (1 + kSameRate)) rate = full_at;
    stop_flows(link, rate);
  }
}

/// Stops all flows that still grow on a full link.
void LinkSharing::stop_flows(LinkId full, double rate) {
  for (const RouteId route : shared_[full].routes) {
    UsedRoute& used = used_[route];
    if (!std::exchange(used.growing, false)) continue;
    shared_[full].full = true;
    for (const LinkShare& part : routes_[route]) {
      UsedLink& link = shared_[part.link];
      const double weight = part.share * used.flows;
      link.room = std::max(0.0, link.room - weight * rate);
      link.weight -= weight;
      --link.growing;
    }
    const double before = std::exchange(used.rate, rate);
    if (before != rate || used.touched) changed_.push_back(route);
  }
}

}  // namespace prequel
