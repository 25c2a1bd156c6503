// The fabric: routes and loads of a big graph, the closed form, and flows that share links.

#include <benchmark/benchmark.h>

#include <random>

#include "hw/fabric/closed_form.hpp"
#include "hw/fabric/routes.hpp"
#include "sim/engine/contention.hpp"

namespace prequel {
namespace {

/// Nodes of eight devices and NICs on a tree of three levels of 64-port switches.
FabricDescription big_cluster() {
  FabricDescription description;
  description.node = {.devices = 8,
                      .interconnect = Interconnect::nvswitch,
                      .device_link = {300e9},
                      .nics = 8,
                      .nic = {25e9},
                      .pcie = {32e9}};
  description.network = FatTree{.levels = 3, .radix = 64, .link = {25e9}};
  return description;
}

constexpr int kNodes = 2048;
constexpr int kRanks = 8 * kNodes;

/// From the description to the bandwidth of data groups beside tensor groups of 8 and 16 pipeline
/// stages: 1024 rings over 16 nodes each. An item is a flow.
void routes(benchmark::State& state) {
  const FabricDescription description = big_cluster();
  const RankGroups data{kRanks, 8, 128};
  for ([[maybe_unused]] auto _ : state) {
    const Router router(build_fabric(description, kNodes));
    benchmark::DoNotOptimize(group_bandwidth(router, data, TrafficPattern::ring));
    benchmark::DoNotOptimize(
        group_bandwidth(router, RankGroups{kRanks, 1024, 16}, TrafficPattern::send_next));
  }
  state.SetItemsProcessed(std::int64_t{2} * kRanks * state.iterations());
}
BENCHMARK(routes)->Name("routes/2048_nodes")->Unit(benchmark::kMillisecond);

/// An item is a bandwidth.
void closed_form(benchmark::State& state) {
  const FabricDescription description = big_cluster();
  const RankGroups data{kRanks, 8, 128};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(closed_group_bandwidth(description, data, TrafficPattern::ring));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(closed_form)->Name("routes/closed_form");

/// 1024 devices of 128 nodes on a tree of two levels.
FabricDescription middle_cluster() {
  FabricDescription description = big_cluster();
  description.network = FatTree{.levels = 2, .radix = 64, .over_subscription = 3.0, .link = {25e9}};
  return description;
}

/// Fair rates of 1024 flows between random devices of 128 nodes. An item is a flow.
void flows(benchmark::State& state) {
  constexpr std::size_t kFlows = 1024;
  const Router router(build_fabric(big_cluster(), 128));
  const std::vector<double> capacities = link_capacities(router.fabric());
  std::mt19937 random(1);
  std::uniform_int_distribution<std::uint32_t> device(0, 1023);
  Routes routes;
  while (routes.size() < kFlows) {
    const std::uint32_t from = device(random);
    const std::uint32_t to = device(random);
    if (from != to) routes.add(router.route(from, to));
  }
  LinkSharing sharing(capacities, routes);
  for ([[maybe_unused]] auto _ : state) {
    for (RouteId route = 0; route < kFlows; ++route) sharing.add(route);
    benchmark::DoNotOptimize(sharing.update());
    for (RouteId route = 0; route < kFlows; ++route) sharing.remove(route);
    benchmark::DoNotOptimize(sharing.update());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kFlows) * state.iterations());
}
BENCHMARK(flows)->Name("max_min/1024")->Unit(benchmark::kMillisecond);

/// Every device sends to every other, and on in two rings, one of which takes longer than the
/// other.
struct Exchange {
  LinkedRoutes linked;
  std::vector<Transfer> transfers;
};

Exchange exchange_on(const Router& router) {
  LinkedRoutes linked{link_capacities(router.fabric()), {}};
  std::vector<Transfer> transfers;
  const auto devices = static_cast<std::uint32_t>(router.fabric().devices().size());
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (std::uint32_t to = 0; to < devices; ++to) {
      if (from != to) transfers.push_back({linked.routes.add(router.route(from, to)), 1e6});
    }
    for (const double bytes : {1e7, 2e7}) {
      const RouteId next = linked.routes.add(router.route(from, (from + 8) % devices));
      transfers.push_back({next, bytes});
    }
  }
  return {merge_alike(linked), std::move(transfers)};
}

/// An item is a flow.
void exchange(benchmark::State& state) {
  static const Exchange flows = exchange_on(Router(build_fabric(middle_cluster(), 128)));
  std::vector<Task> tasks(flows.transfers.size());
  for (TaskId task = 0; task < tasks.size(); ++task) tasks[task] = {task, task, {}};
  const TaskGraph graph(std::move(tasks), {});
  const std::vector<double> latencies(flows.transfers.size(), 1e-6);
  Machine machine;
  machine.link_capacities = flows.linked.capacities;
  machine.routes = &flows.linked.routes;
  machine.transfers = flows.transfers;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(run_contended(graph, latencies, machine).end());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(flows.transfers.size()) * state.iterations());
}
BENCHMARK(exchange)->Name("flows/1024")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
