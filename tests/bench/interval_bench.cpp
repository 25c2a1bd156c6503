// How sure an answer is, and constants from a few runs.

#include <benchmark/benchmark.h>

#include "calibrate/runs/fit_runs.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"
#include "sim/answer/interval.hpp"

namespace prequel {
namespace {

/// As predict/384_gpus, and its interval. An item is a prediction.
void predict_interval(benchmark::State& state) {
  const Library library({PREQUEL_DATA_DIR});
  const Uncertainty priors = read_uncertainty(library.open("uncertainty", "priors"));
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  for ([[maybe_unused]] auto _ : state) {
    const Scenario scenario = resolve(read_job(library, request)).scenario;
    benchmark::DoNotOptimize(interval(scenario, predict(scenario), priors));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(predict_interval)->Name("predict/interval")->Unit(benchmark::kMillisecond);

/// All constants that four runs tell of, without folds. An item is a calibration.
void calibrate_runs(benchmark::State& state) {
  const Library library({PREQUEL_DATA_DIR});
  const Uncertainty priors = read_uncertainty(library.open("uncertainty", "priors"));
  auto runs = read_measured_runs(PREQUEL_DATA_DIR "/runs/mosaic-h100.csv");
  runs.resize(4);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(fit_runs(library, runs, priors, {}, 1));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(calibrate_runs)->Name("calibrate/runs_4")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
