// The fabric: routes and loads of a big graph, the closed form, and flows that share links.

#include <benchmark/benchmark.h>

#include <random>

#include "hw/fabric/closed_form.hpp"
#include "hw/fabric/max_min.hpp"

namespace prequel {
namespace {

/// Nodes of eight devices and NICs on a tree of three levels of 64-port switches.
FabricDescription big_cluster() {
  FabricDescription description;
  description.node = {.devices = 8,
                      .interconnect = Interconnect::nvswitch,
                      .device_link = {{300e9}, {1e-6}},
                      .nics = 8,
                      .nic = {{25e9}, {1e-6}},
                      .pcie = {{32e9}, {1e-6}}};
  description.network = FatTree{.levels = 3, .radix = 64, .link = {{25e9}, {1e-6}}};
  return description;
}

constexpr int kNodes = 2048;

/// From the description to the bandwidth of data groups beside tensor groups of 8 and 16 pipeline
/// stages: 1024 rings over 16 nodes each. An item is a flow.
void routes(benchmark::State& state) {
  const FabricDescription description = big_cluster();
  const Placement placement({.tp = 8, .dp = 128, .pp = 16});
  for ([[maybe_unused]] auto _ : state) {
    const Router router(build_fabric(description, kNodes));
    benchmark::DoNotOptimize(
        group_bandwidth(router, placement.data_groups(), TrafficPattern::ring));
    benchmark::DoNotOptimize(
        group_bandwidth(router, placement.groups({Axis::pipeline}), TrafficPattern::send_next));
  }
  state.SetItemsProcessed(std::int64_t{2} * placement.ranks() * state.iterations());
}
BENCHMARK(routes)->Name("routes/2048_nodes")->Unit(benchmark::kMillisecond);

/// An item is a bandwidth.
void closed_form(benchmark::State& state) {
  const FabricDescription description = big_cluster();
  const Placement placement({.tp = 8, .dp = 128, .pp = 16});
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(
        closed_group_bandwidth(description, placement.data_groups(), TrafficPattern::ring));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(closed_form)->Name("routes/closed_form");

/// Fair rates of 1024 flows between random devices of 128 nodes. An item is a flow.
void flows(benchmark::State& state) {
  constexpr std::size_t kFlows = 1024;
  const Router router(build_fabric(big_cluster(), 128));
  const std::vector<double> capacities = link_capacities(router.fabric());
  std::mt19937 random(1);
  std::uniform_int_distribution<std::uint32_t> device(0, 1023);
  FlowRoutes routes;
  while (routes.size() < kFlows) {
    const std::uint32_t from = device(random);
    const std::uint32_t to = device(random);
    if (from != to) routes.add(router.route(from, to));
  }
  MaxMinSolver solver;
  std::vector<double> rates;
  for ([[maybe_unused]] auto _ : state) {
    solver.solve(capacities, routes, rates);
    benchmark::DoNotOptimize(rates.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kFlows) * state.iterations());
}
BENCHMARK(flows)->Name("max_min/1024")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
