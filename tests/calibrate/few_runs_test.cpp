#include "calibrate/runs/few_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrate/runs/run_fit.hpp"
#include "calibrate/validate/run_inputs.hpp"
#include "calibrate/validate/validation.hpp"
#include "tests/calibrate/shipped_tables.hpp"
#include "tests/error_text.hpp"

using namespace prequel;

namespace {

/// Times of a table, with all constants of time.
RunFit fit_of(const Library& library, const std::vector<MeasuredRun>& runs,
              const Uncertainty& uncertainty) {
  std::vector<Uncertain> constants;
  for (std::size_t i = 0; i < kUncertainOfTime; ++i) constants.push_back(Uncertain(i));
  std::vector<ObservedRun> times = observed_times(library, runs);
  WhatIsKnown known = what_is_known(times, uncertainty, constants);
  return {std::move(times), uncertainty, constants, std::move(known), nullptr};
}

}  // namespace

TEST_CASE("after no rows a calibration says what the files say") {
  const Library library({});
  const auto runs = table("korthikanti-2022");
  const Uncertainty uncertainty = priors(library);
  const RunFit fit = fit_of(library, runs, uncertainty);
  const std::vector<std::size_t> rows{0, 1, 2, 3};
  const auto hypotheses = fit.fit({});
  REQUIRE(hypotheses.size() == 1);
  CHECK(hypotheses.front().choice == StackChoice{});
  const auto forecasts = fit.forecasts(hypotheses, rows);
  for (const std::size_t row : rows) {
    CHECK(forecasts[row].log_median == doctest::Approx(fit.as_files_say(row)));
    CHECK(forecasts[row].scale > 0);
  }
}

TEST_CASE("more rows that agree narrow what is said of one that was not fitted") {
  const Library library({});
  auto runs = table("mosaic-a100");
  RunInputs inputs(library, {});
  for (MeasuredRun& run : runs) {
    if (run.sec_per_iter)
      run.sec_per_iter = predict(inputs.scenario(run).scenario).sec_per_iter.value;
  }
  const Uncertainty uncertainty = priors(library);
  const RunFit fit = fit_of(library, runs, uncertainty);
  const std::vector<std::size_t> asked{0};
  double last = fit.forecasts(fit.fit({}), asked).front().scale;
  for (const std::size_t count : {6U, 30U}) {
    std::vector<std::size_t> rows(count);
    for (std::size_t i = 0; i < count; ++i) rows[i] = 1 + i;
    const double scale = fit.forecasts(fit.fit(rows), asked).front().scale;
    CHECK(scale < last);
    last = scale;
  }
}

TEST_CASE("a checked stack is held by what it earned, one that none checked is not") {
  const Library library({});
  const Uncertainty uncertainty = priors(library);
  auto runs = table("mosaic-a100", 4);
  const auto known = [&] {
    return what_is_known(observed_times(library, runs), uncertainty, {Uncertain::gemm});
  };
  const WhatIsKnown checked = known();
  for (MeasuredRun& run : runs) run.software = "pytorch-fsdp2-2024";
  const WhatIsKnown unseen = known();
  CHECK(checked.priors.front().weight > unseen.priors.front().weight);
  CHECK(checked.other_name < unseen.other_name);
  for (const WhatIsKnown& one : {checked, unseen}) {
    double sum = 0.0;
    for (const WeighedPrior& prior : one.priors) sum += prior.weight;
    CHECK(sum == doctest::Approx(1.0));
    const double sd = uncertainty.constants[0].sd;
    CHECK(one.priors.back().prior.covariance(0, 0) == doctest::Approx(sd * sd));
  }
}

TEST_CASE("picks of few rows are the same each time, and those of more hold those of fewer") {
  const Library library({});
  const Uncertainty uncertainty = priors(library);
  const auto runs = table("korthikanti-2022");
  const auto few = few_runs(library, runs, uncertainty, {1, 4, 100}, 3);
  REQUIRE(few.size() == 3);  // none, 1 and 4: there are not 102 rows
  CHECK(few[0].fitted == 0);
  CHECK(few[2].fitted == 4);
  CHECK(few[2].picks == 3);
  CHECK(few[2].coverage.n == 3 * 4);
  const auto again = few_runs(library, runs, uncertainty, {4}, 3);
  CHECK(again[1].median == few[2].median);
  for (const FewRuns& one : few) {
    CHECK(std::isfinite(one.median));
    CHECK(one.median <= one.worst + 1e-12);
  }
}

TEST_CASE("two rows leave none to tell") {
  const Library library({});
  CHECK(error_text([&] {
          (void)few_runs(library, table("korthikanti-2022", 2), priors(library), {1}, 1);
        }).starts_with("few: needs at least three runs"));
}
