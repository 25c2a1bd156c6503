#include "sim/search/pareto.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

namespace prequel {

std::vector<std::size_t> pareto_front(const std::vector<FoundPlan>& plans) {
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(plans[i].value, plans[i].peak_memory.value, plans[i].plan.nodes, i);
  });
  std::vector<std::size_t> front;
  // The least memory on at most so many nodes of the plans so far; it falls as nodes rise.
  std::map<std::int64_t, double> least;
  for (const std::size_t i : order) {
    const double memory = plans[i].peak_memory.value;
    const auto more_nodes = least.upper_bound(plans[i].plan.nodes);
    if (more_nodes != least.begin() && std::prev(more_nodes)->second <= memory) continue;
    front.push_back(i);
    const auto less_memory = std::find_if(more_nodes, least.end(),
                                          [&](const auto& other) { return other.second < memory; });
    least.erase(more_nodes, less_memory);
    least[plans[i].plan.nodes] = memory;
  }
  std::ranges::sort(front);
  return front;
}

}  // namespace prequel
