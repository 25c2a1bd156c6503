#include "calibrate/fit_runs.hpp"

#include <doctest/doctest.h>

#include "calibrate/validation.hpp"
#include "tests/error_text.hpp"

using namespace prequel;

namespace {

const std::string kFixed = "software.host.fixed_per_iteration_s";
const std::string kEfficiency = "cluster.network.efficiency";

std::vector<MeasuredRun> jean_zay_runs() {
  return read_measured_runs(PREQUEL_DATA_DIR "/runs/bigscience-jz-a100.csv");
}

/// The table with its times replaced by what other constants would have given.
std::vector<MeasuredRun> synthetic_runs(const Library& library, double fixed, double efficiency) {
  std::vector<MeasuredRun> runs = jean_zay_runs();
  RunInputs inputs(library,
                   {{kFixed, std::to_string(fixed)}, {kEfficiency, std::to_string(efficiency)}});
  for (MeasuredRun& run : runs) {
    if (run.sec_per_iter)
      run.sec_per_iter = predict(inputs.scenario(run).scenario).sec_per_iter.value;
  }
  return runs;
}

}  // namespace

TEST_CASE("known constants are found again from runs that they made") {
  const Library library({});
  const auto runs = synthetic_runs(library, 9.0, 0.5);
  const auto report =
      fit_runs(library, runs, run_constants(library, runs, {kFixed, kEfficiency}), 3);
  CHECK(report.fit.constants[0].value == doctest::Approx(9.0).epsilon(0.01));
  CHECK(report.fit.constants[1].value == doctest::Approx(0.5).epsilon(0.01));
  CHECK(report.in_sample.mape < 1e-3);
  CHECK(report.held_out.mape < 1e-3);
  CHECK(report.held_out.n == report.rows);
}

TEST_CASE("the held-out error of the Jean Zay table stays below 3.5 %") {
  const Library library({});
  const auto runs = jean_zay_runs();
  const auto report = fit_runs(
      library, runs,
      run_constants(library, runs, {kFixed, "software.host.blocking_launch_per_layer_s"}), 5);
  CHECK(report.rows == 72);
  CHECK(report.held_out.mape < 0.035);
}

TEST_CASE("a constant that is not there is refused by its path") {
  const Library library({});
  const auto runs = jean_zay_runs();
  CHECK(error_text([&] { (void)run_constants(library, runs, {"plan.dp"}); }) ==
        "--fit plan.dp: expected a field of software. or cluster.");
  CHECK(error_text([&] { (void)run_constants(library, runs, {}); }) ==
        "--fit: 0 constants; one to five can be told from runs");
}
