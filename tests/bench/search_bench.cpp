// Searches of the 176B model. An item is a legal plan.

#include <benchmark/benchmark.h>

#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

void run(benchmark::State& state, std::vector<std::int64_t> nodes) {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  SearchAxes axes;
  axes.nodes = std::move(nodes);
  axes.gbs = {2048};
  axes = fill_axes(axes, inputs, Reach::everything);
  SearchLimits limits;
  limits.best = 10;  // as the command prints
  std::size_t plans = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Candidates candidates = legal_plans(axes, inputs);
    benchmark::DoNotOptimize(search(candidates, inputs, limits));
    plans = static_cast<std::size_t>(candidates.plans());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plans));
  state.counters["plans"] = static_cast<double>(plans);
}

void search_48_nodes(benchmark::State& state) {
  run(state, {48});
}
BENCHMARK(search_48_nodes)
    ->Name("search/48_nodes")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

void search_any_nodes(benchmark::State& state) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t n = 1; n <= 48; ++n) nodes.push_back(n);
  run(state, nodes);
}
BENCHMARK(search_any_nodes)
    ->Name("search/any_nodes")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

/// All axes of a model with experts on 1,024 GPUs. An item is a combination of their values.
void search_moe(benchmark::State& state) {
  SearchInputs inputs =
      shipped_inputs("deepseek-v3", "nvidia-dgx-h100", 8192, "megatron-core-moe-2026");
  inputs.fixed.seq_len = 4096;
  SearchAxes axes;
  axes.nodes = {128};
  axes.gbs = {8192};
  axes.etp = {1};
  axes.cp = {1};
  axes.zero = {1};
  axes.stage_split = {StageSplit::blocks};
  axes.cuda_graphs = {{}, {GraphedModule::full}};
  axes.schedule = {Schedule::one_f_one_b, Schedule::interleaved};
  axes = fill_axes(axes, inputs, Reach::everything);
  SearchLimits limits;
  limits.best = 10;
  Candidates candidates;
  for ([[maybe_unused]] auto _ : state) {
    candidates = legal_plans(axes, inputs);
    benchmark::DoNotOptimize(search(candidates, inputs, limits));
  }
  state.SetItemsProcessed(state.iterations() * candidates.considered);
  state.counters["combinations"] = static_cast<double>(candidates.considered);
  state.counters["plans"] = static_cast<double>(candidates.plans());
}
BENCHMARK(search_moe)
    ->Name("search/moe_any")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace prequel
