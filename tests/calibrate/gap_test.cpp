#include "calibrate/runs/gap.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "calibrate/validate/run_inputs.hpp"
#include "calibrate/validate/validation.hpp"
#include "tests/calibrate/shipped_tables.hpp"

using namespace prequel;

namespace {

/// Runs of Jean Zay with the times that other constants would have given.
std::vector<MeasuredRun> runs_with(const Library& library, const std::vector<Override>& overrides,
                                   std::size_t most) {
  std::vector<MeasuredRun> runs =
      read_measured_runs(PREQUEL_DATA_DIR "/runs/bigscience-jz-a100.csv");
  std::erase_if(runs, [](const MeasuredRun& run) { return !run.sec_per_iter || !run.plan.gbs; });
  runs.resize(most);
  RunInputs inputs(library, overrides);
  for (MeasuredRun& run : runs) {
    run.sec_per_iter = predict(inputs.scenario(run).scenario).sec_per_iter.value;
  }
  return runs;
}

}  // namespace

TEST_CASE("a run that took what was predicted has no cause but scatter") {
  const Library library({});
  const auto runs = runs_with(library, {}, 1);
  const auto causes = gap_causes(observed_times(library, runs), priors(library));
  REQUIRE_FALSE(causes.empty());
  CHECK(causes.front().what == "scatter from run to run");
  double sum = 0.0;
  for (const GapCause& one : causes) {
    sum += one.probability;
    CHECK(one.low <= one.value);
    CHECK(one.value <= one.high);
  }
  CHECK(sum <= 1.0 + 1e-9);
}

TEST_CASE("launches that take three times as long are found, and by how much") {
  const Library library({});
  const std::string path = "software.host.blocking_launch_per_layer_s";
  const auto as_shipped = runs_with(library, {}, 1);
  const Scenario scenario = observed_times(library, as_shipped).front().scenario;
  const double shipped = scenario.software.host.blocking_launch_per_layer.value;
  REQUIRE(shipped > 0);
  const auto runs = runs_with(library, {{path, std::to_string(3.0 * shipped), "--set"}}, 6);
  const auto causes = gap_causes(observed_times(library, runs), priors(library));
  const auto host = std::ranges::find_if(
      causes, [](const GapCause& one) { return one.what.starts_with("launches by the host"); });
  REQUIRE(host != causes.end());
  CHECK(host == causes.begin());
  CHECK(host->value == doctest::Approx(3.0).epsilon(0.1));
  CHECK(host->low < 3.05);
  CHECK(host->high > 2.95);
  CHECK(text(causes).find("launches by the host") != std::string::npos);
  const auto again = gap_causes(observed_times(library, runs), priors(library));
  CHECK(again.front().probability == causes.front().probability);
}

TEST_CASE(
    "attention is told by the kernel that the job runs, at the head size nearest to its own") {
  const Library library({});
  std::istringstream in(
      "id,cluster,software,model,nodes,tp,pp,mbs,gbs,seq_len,sec_per_iter,status\n"
      "a,dgx-h100,megatron-core-2025,llama-3-8b,2,2,1,1,128,8192,20,ok\n"
      "b,dgx-a100,megatron-lm-2021,gpt-7.5b,2,2,1,1,128,2048,99,ok\n");
  const auto rows = read_measured_runs(in, "runs.csv");
  const auto path_of = [&](const MeasuredRun& row) {
    const auto causes = gap_causes(observed_times(library, {row}), priors(library));
    const auto attention = std::ranges::find_if(
        causes, [](const GapCause& one) { return one.what.starts_with("attention kernels"); });
    return attention == causes.end() ? std::string("none") : attention->path;
  };
  CHECK(path_of(rows[0]) == "device.attention.kernels.cudnn.head_sizes.2.forward.efficiency");
  CHECK(path_of(rows[1]).starts_with("software.kernels.score_traffic.fused-softmax"));
}

TEST_CASE("no runs have no causes") {
  CHECK(gap_causes({}, priors(Library({}))).empty());
}
