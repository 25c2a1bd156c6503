#include "calibrate/measure/group_backend.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace prequel {
namespace {

/// Powers of two below `most` that divide it, and `most`.
std::vector<int> sizes_up_to(int most) {
  std::vector<int> sizes;
  for (int size = 2; size < most; size *= 2) {
    if (most % size == 0) sizes.push_back(size);
  }
  if (most > 1) sizes.push_back(most);
  return sizes;
}

/// A process' node, and its number among those of the node.
struct Place {
  int node{};
  int local{};
};

std::vector<Place> places(const std::vector<int>& node_of) {
  std::vector<int> held;
  std::vector<Place> result;
  for (const int node : node_of) {
    held.resize(std::max(held.size(), static_cast<std::size_t>(node) + 1));
    result.push_back({node, held[static_cast<std::size_t>(node)]++});
  }
  return result;
}

}  // namespace

std::vector<GroupLayout> group_layouts(const std::vector<int>& node_of) {
  const auto all = static_cast<int>(node_of.size());
  if (all < 2) return {};
  const std::vector<Place> where = places(node_of);
  int nodes = 0;
  int per_node = 0;
  for (const Place& place : where) {
    nodes = std::max(nodes, place.node + 1);
    per_node = std::max(per_node, place.local + 1);
  }
  std::vector<GroupLayout> layouts;
  std::set<std::tuple<int, int, int>> seen;
  const auto add = [&](int ranks, int spans, int groups, const std::function<int(Place)>& group) {
    if (ranks < 2 || !seen.insert({ranks, spans, groups}).second) return;
    GroupLayout layout{ranks, spans, groups, {}};
    for (const Place& place : where) {
      const int number = group(place);
      layout.group_of.push_back(number < groups ? number : -1);
    }
    layouts.push_back(std::move(layout));
  };
  if (nodes * per_node != all) {
    add(all, nodes, 1, [](Place) { return 0; });
    return layouts;
  }
  for (const int size : sizes_up_to(per_node)) {
    const int in_node = per_node / size;
    const auto block = [=](Place at) { return at.node * in_node + at.local / size; };
    add(size, 1, 1, block);
    add(size, 1, in_node * nodes, block);
  }
  for (const int spans : sizes_up_to(nodes)) {
    const auto one_each = [=](Place at) { return at.node < spans ? at.local : per_node; };
    add(spans * per_node, spans, 1, [=](Place at) { return at.node / spans; });
    add(spans, spans, 1, one_each);
    add(spans, spans, per_node, one_each);
  }
  return layouts;
}

}  // namespace prequel
