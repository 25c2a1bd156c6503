#include "sim/search/nearest_plan.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "models/axes/axes.hpp"

namespace prequel {
namespace {

constexpr std::array<std::string_view, 5> kOfMemory{"mbs", "recompute", "recompute_modules", "zero",
                                                    "dp"};
constexpr std::array<std::string_view, 14> kOfLayout{
    "mbs", "recompute", "recompute_modules", "zero", "dp",     "tp", "pp",
    "vpp", "schedule",  "sequence_parallel", "ep",   "layout", "cp", "etp"};
/// Share of a device that stays free, so that the verdict is not "tight".
constexpr double kRoom = 0.12;

/// Returns the best of the plans that are as the scenario's but for the axes that are `free`.
std::optional<FoundPlan> best_of(const Scenario& scenario, std::span<const std::string_view> free,
                                 std::int64_t nodes) {
  SearchInputs inputs{static_cast<const Inputs&>(scenario), {}};
  SearchAxes said;
  each_axis([&](const auto& axis) {
    if (std::ranges::find(free, axis.name) != free.end()) return;
    if (is_listed(axis.use)) {
      axis.of(said) = {axis.of(scenario.plan)};
    } else {
      axis.of(inputs.fixed) = axis.of(scenario.plan);
    }
  });
  said.nodes = {nodes};
  SearchLimits limits;
  limits.best = 1;
  limits.memory_headroom = kRoom;
  const Candidates candidates = legal_plans(fill_axes(said, inputs, Reach::usual), inputs);
  const SearchResult result = search(candidates, inputs, limits);
  return result.plans.empty() ? std::nullopt : std::optional(result.plans.front());
}

}  // namespace

std::optional<FoundPlan> nearest_fitting(const Scenario& scenario) {
  constexpr std::int64_t kMostTimes = 8;
  const std::int64_t nodes = scenario.plan.nodes;
  if (auto found = best_of(scenario, kOfMemory, nodes)) return found;
  for (std::int64_t times = 1; times <= kMostTimes; times *= 2) {
    if (nodes * times > scenario.cluster.nodes) break;
    if (auto found = best_of(scenario, kOfLayout, nodes * times)) return found;
  }
  return std::nullopt;
}

}  // namespace prequel
