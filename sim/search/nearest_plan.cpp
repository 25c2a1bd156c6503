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
/// Schedules, layouts by hand and context ranks stay as they are: they multiply the plans by
/// hundreds, for an answer that is to come at once.
constexpr std::array<std::string_view, 9> kOfLayout{
    "mbs", "recompute", "zero", "dp", "tp", "pp", "vpp", "sequence_parallel", "ep"};
/// Shares of a device that stay free in plans that are looked at, one after another, and how many
/// of the fastest of these are asked whether they are sure to fit.
constexpr std::array<double, 3> kRooms{0.03, 0.12, 0.3};
constexpr std::size_t kAsked = 6;

/// Tests whether a plan takes a part of a node alone.
bool is_on_part(const Scenario& scenario) {
  return scenario.plan.gpus < scenario.cluster.devices_per_node;
}

/// The scenario with its frozen weights in 4 bits.
std::optional<Scenario> quantised(const Scenario& scenario) {
  const bool has_frozen = scenario.plan.tuning == Tuning::lora;
  if (!has_frozen || scenario.plan.base_precision != BaseFormat::bf16) return std::nullopt;
  Scenario in_four_bits = scenario;
  in_four_bits.plan.base_precision = BaseFormat::nf4;
  return in_four_bits;
}

/// Returns the fastest of the plans that are as the scenario's but for the axes that are `free`.
std::optional<FoundPlan> best_of(const Scenario& scenario, std::span<const std::string_view> free,
                                 std::int64_t nodes, const IsSure& is_sure) {
  SearchInputs inputs{static_cast<const Inputs&>(scenario), {}, scenario.plan.gpus};
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
  limits.best = kAsked;
  const Candidates candidates = legal_plans(fill_axes(said, inputs, Reach::usual), inputs);
  for (const double room : kRooms) {
    limits.memory_headroom = room;
    const SearchResult result = search(candidates, inputs, limits);
    const auto sure = std::ranges::find_if(result.plans, is_sure);
    if (sure != result.plans.end()) return *sure;
    if (result.plans.empty()) break;  // none fits with more room, either
  }
  return std::nullopt;
}

}  // namespace

std::optional<FoundPlan> nearest_fitting(const Scenario& scenario, const IsSure& is_sure) {
  constexpr std::int64_t kMostTimes = 8;
  const std::int64_t nodes = scenario.plan.nodes;
  if (auto found = best_of(scenario, kOfMemory, nodes, is_sure)) return found;
  if (const auto smaller = quantised(scenario)) {
    if (auto found = best_of(*smaller, kOfMemory, nodes, is_sure)) return found;
  }
  if (is_on_part(scenario)) return best_of(scenario, kOfLayout, nodes, is_sure);
  for (std::int64_t times = 1; times <= kMostTimes; times *= 2) {
    if (nodes * times > scenario.cluster.nodes) break;
    if (auto found = best_of(scenario, kOfLayout, nodes * times, is_sure)) return found;
  }
  return std::nullopt;
}

}  // namespace prequel
