// Searches of the 176B model. An item is a legal plan.

#include <benchmark/benchmark.h>

#include "models/job/library.hpp"
#include "sim/search/search.hpp"

namespace prequel {
namespace {

void run(benchmark::State& state, std::vector<std::int64_t> nodes) {
  JobRequest request;
  request.model = "bloom-176b";
  request.cluster = "jean-zay-a100";
  Job job = read_job(Library({PREQUEL_DATA_DIR}), request);
  SearchInputs inputs{job.model, job.device, job.cluster, job.software, job.plan};
  SearchAxes axes;
  axes.nodes = std::move(nodes);
  axes.gbs = {2048};
  axes = fill_axes(axes, inputs, true);
  SearchLimits limits;
  limits.best = 10;  // as the command prints
  std::size_t plans = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Candidates candidates = legal_plans(axes, inputs);
    benchmark::DoNotOptimize(search(candidates, inputs, limits));
    plans = candidates.legal.size();
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

}  // namespace
}  // namespace prequel
