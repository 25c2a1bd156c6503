#include "calibrate/runs/fit_runs.hpp"

#include <doctest/doctest.h>

#include "calibrate/runs/calibrated_files.hpp"
#include "calibrate/validate/run_inputs.hpp"
#include "calibrate/validate/validation.hpp"
#include "hw/base/json_cursor.hpp"
#include "tests/calibrate/shipped_tables.hpp"
#include "tests/error_text.hpp"

using namespace prequel;

namespace {

const std::string kFixed = "software.host.fixed_per_iteration_s";
const std::string kEfficiency = "cluster.network.efficiency";

std::vector<MeasuredRun> jean_zay_runs() {
  return table("bigscience-jz-a100");
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

const CalibratedConstant& constant(const QuantityFit& fit, Uncertain which) {
  for (const CalibratedConstant& one : fit.constants) {
    if (one.constant == which) return one;
  }
  FAIL("not fitted: " << name(which));
  return fit.constants.front();
}

}  // namespace

TEST_CASE("known constants are found again from runs that they made") {
  const Library library({});
  const auto runs = synthetic_runs(library, 9.0, 0.5);
  const auto report = fit_runs(library, runs, priors(library),
                               uncertain_constants({kFixed, kEfficiency}, runs, library), 3);
  const CalibratedConstant& fixed = constant(report.time, Uncertain::fixed);
  const CalibratedConstant& network = constant(report.time, Uncertain::network);
  CHECK(fixed.path == kFixed);
  CHECK(fixed.value == doctest::Approx(9.0).epsilon(0.01));
  CHECK(network.value == doctest::Approx(0.5).epsilon(0.01));
  CHECK(network.low < 0.5);
  CHECK(network.high > 0.5);
  CHECK(network.informed > 0.75);  // a part of each collective stays inside the nodes
  CHECK(report.time.in_sample.mape < 1e-3);
  CHECK(report.time.held_out.mape < 1e-3);
  CHECK(report.time.held_out.n == report.time.rows);
}

TEST_CASE("the held-out error of the Jean Zay table stays below 3.5 %") {
  const Library library({});
  const auto runs = jean_zay_runs();
  const auto report = fit_runs(
      library, runs, priors(library),
      uncertain_constants({kFixed, "software.host.blocking_launch_per_layer_s"}, runs, library), 5);
  CHECK(report.time.rows == 72);
  CHECK(report.time.held_out.mape < 0.035);
}

TEST_CASE("one row is enough to help, and what it cannot tell keeps its prior") {
  const Library library({});
  const auto runs = table("mosaic-a100", 1);
  const auto report = fit_runs(library, runs, priors(library), {}, 1);
  CHECK(report.time.rows == 1);
  for (const CalibratedConstant& one : report.time.constants) {
    CHECK(std::isfinite(one.value));
    CHECK(one.low <= one.value);
    CHECK(one.high >= one.value);
    CHECK(one.informed < 0.9);
  }
}

TEST_CASE("a row that contradicts its copy raises the scatter and leaves the constants") {
  const Library library({});
  auto runs = table("mosaic-a100", 1);
  runs.push_back(runs.front());
  const auto same = fit_runs(library, runs, priors(library), {}, 1);
  *runs.back().sec_per_iter *= 2.0;
  const auto differ = fit_runs(library, runs, priors(library), {}, 1);
  CHECK(differ.time.noise > same.time.noise);
  for (const CalibratedConstant& one : differ.time.constants) CHECK(std::isfinite(one.high));
}

TEST_CASE("files that a calibration writes predict as it did, and state their spreads") {
  const Library library({});
  const auto runs = synthetic_runs(library, 9.0, 0.5);
  const auto uncertainty = priors(library);
  const auto report = fit_runs(library, runs, uncertainty,
                               uncertain_constants({"fixed", "network"}, runs, library), 1);
  const auto files = calibrated_files(library, runs, uncertainty, report, "-ours");
  REQUIRE(files.size() == 2);
  for (const CalibratedFile& file : files) {
    const Document document = Document::parse(file.name, file.text);
    if (file.folder == "clusters") {
      const Cluster cluster = read_cluster(document);
      CHECK(cluster.network.efficiency == doctest::Approx(0.5).epsilon(0.01));
      CHECK(cluster.software == "megatron-deepspeed-2022-ours");
      REQUIRE(cluster.spreads.size() == 1);
      CHECK(cluster.spreads.front().path == "network.efficiency");
    } else {
      const Software software = read_software(document);
      CHECK(software.host.fixed_per_iteration.value == doctest::Approx(9.0).epsilon(0.01));
      CHECK(software.calibration.has_value());
    }
  }
}

TEST_CASE("a constant that is not there is refused by its path") {
  const Library library({});
  const auto runs = jean_zay_runs();
  CHECK(error_text([&] {
          (void)uncertain_constants({"plan.dp"}, runs, library);
        }).starts_with("fit plan.dp: no constant that runs tell of"));
  CHECK(uncertain_constants({"fixed", kFixed}, runs, library) == std::vector{Uncertain::fixed});
  CHECK(uncertain_constants({}, runs, library).empty());
}

TEST_CASE(
    "what rows share is left out at once, and the rows that made the constants are found again") {
  const Library library({});
  std::vector<MeasuredRun> runs = synthetic_runs(library, 9.0, 0.5);
  const auto report =
      fit_runs(library, runs, priors(library),
               uncertain_constants({kFixed, kEfficiency}, runs, library), 5, nullptr, "model");
  REQUIRE(report.left_out.has_value());
  CHECK(report.left_out->by == "model");
  CHECK(report.left_out->folds > 1);
  CHECK(report.left_out->n == report.time.rows);
  // The linear model around the fit is all that folds ask: near what made the rows it is exact.
  CHECK(report.left_out->seen.median < 1e-3);
  CHECK(report.left_out->left_out.median < 5e-3);
  CHECK(report.left_out->seen.p90 <= report.left_out->left_out.p90);
}

TEST_CASE("leaving out models is no kinder than seeing them") {
  const Library library({});
  const auto report =
      fit_runs(library, table("nemo-before-25.09"), priors(library), {}, 5, nullptr, "model");
  REQUIRE(report.left_out.has_value());
  CHECK(report.left_out->seen.p90 <= report.left_out->left_out.p90);
  CHECK(report.left_out->left_out.interval80 > 0.5);
  // An answer is less sure of kinds that no fitted row has.
  CHECK(report.left_out->left_out.half_width > report.left_out->seen.half_width);
  CHECK(report.time.held_out.median == doctest::Approx(report.left_out->left_out.median));
}
