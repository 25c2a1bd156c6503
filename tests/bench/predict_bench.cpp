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

}  // namespace
}  // namespace prequel
