// A whole prediction, as a user asks for it.

#include <benchmark/benchmark.h>

#include "models/job/library.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {
namespace {

/// From the job file of a 384-GPU plan to the answer, all JSON files read anew. An item is a
/// prediction.
void predict_job(benchmark::State& state) {
  const Library library({PREQUEL_DATA_DIR});
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  for ([[maybe_unused]] auto _ : state) {
    const Job job = read_job(library, request);
    const ResolvedPlan resolved = resolve_plan(job.plan, job.model, job.cluster, job.software);
    benchmark::DoNotOptimize(
        predict({job.model, job.device, job.cluster, job.software, resolved.plan}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(predict_job)->Name("predict/384_gpus")->Unit(benchmark::kMillisecond);

/// One evaluation of a model with experts on 1,024 GPUs whose layers are priced. An item is one.
void clock_deepseek(benchmark::State& state) {
  JobRequest request;
  request.model = "deepseek-v3";
  request.cluster = "nvidia-dgx-h100";
  request.software = "megatron-core-moe-2026";
  Job job = read_job(Library({PREQUEL_DATA_DIR}), request);
  job.plan.nodes = 128;
  job.plan.tp = 2;
  job.plan.pp = 16;
  job.plan.vpp = 2;
  job.plan.ep = 64;
  job.plan.gbs = 8192;
  job.plan.seq_len = 4096;
  job.plan.layout = "Et*3|(tt|)*29m|L";
  const ResolvedPlan resolved = resolve_plan(job.plan, job.model, job.cluster, job.software);
  const Scenario scenario{job.model, job.device, job.cluster, job.software, resolved.plan};
  const LayerCosts layers = price_layers(scenario);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(iteration_time(scenario, layers));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(clock_deepseek)->Name("clock/deepseek_v3_1024")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace prequel
