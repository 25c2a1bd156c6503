// A whole prediction, as a user asks for it.

#include <benchmark/benchmark.h>

#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// From the job file of a 384-GPU plan to the answer, all JSON files read anew. An item is a
/// prediction.
void predict_job(benchmark::State& state) {
  const Library library({PREQUEL_DATA_DIR});
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(predict(resolve(read_job(library, request)).scenario));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(predict_job)->Name("predict/384_gpus")->Unit(benchmark::kMillisecond);

/// Plays the memory of every stage of a job over time. An item is a moment.
void memory_timeline(benchmark::State& state) {
  const Library library({PREQUEL_DATA_DIR});
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  const Scenario scenario = resolve(read_job(library, request)).scenario;
  std::int64_t moments = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (const auto& stage : timeline(scenario).memory) moments += std::ssize(stage);
  }
  state.SetItemsProcessed(moments);
}
BENCHMARK(memory_timeline)->Name("memory/timeline")->Unit(benchmark::kMillisecond);

/// One evaluation of a model with experts on 1,024 GPUs whose layers are priced. An item is one.
void clock_deepseek(benchmark::State& state) {
  Job job = job_of("deepseek-v3", "nvidia-dgx-h100", "megatron-core-moe-2026");
  job.plan.nodes = 128;
  job.plan.tp = 2;
  job.plan.pp = 16;
  job.plan.vpp = 2;
  job.plan.ep = 64;
  job.plan.gbs = 8192;
  job.plan.seq_len = 4096;
  job.plan.layout = "Et*3|(tt|)*29m|L";
  const Scenario scenario = resolve(job).scenario;
  const LayerCosts layers = price_layers(scenario);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(iteration_time(scenario, layers));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(clock_deepseek)->Name("clock/deepseek_v3_1024")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace prequel
