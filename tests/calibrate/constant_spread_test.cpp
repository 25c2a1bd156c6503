#include "calibrate/spread/constant_spread.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrate/statistics/error_statistics.hpp"
#include "hw/base/json_cursor.hpp"

using namespace prequel;

TEST_CASE("spreads are found from guesses and runs, the same each time, not from older spreads") {
  const Library library({});
  auto runs = read_measured_runs(PREQUEL_DATA_DIR "/runs/megatron-sc21.csv");
  runs.resize(5);
  Uncertainty priors = read_uncertainty(library.open("uncertainty", "priors"));
  const SpreadReport first = estimate_spread(library, runs, priors);
  CHECK(first.cases.size() > 2);
  CHECK(first.own_level > 0);
  CHECK(first.noise_median > 0);
  const auto of = [&](const SpreadReport& report, Uncertain constant) {
    return report.constants[static_cast<std::size_t>(constant)];
  };
  bool any = false;
  for (const SpreadEstimate& one : first.constants) {
    CAPTURE(name(one.constant));
    CHECK(std::isfinite(one.after));
    CHECK(one.after > 0);
    any = any || (one.sought && one.cases > 0);
    ConstantPrior& prior = priors.constants[static_cast<std::size_t>(one.constant)];
    if (prior.guess > 0) CHECK(one.sought);
    if (one.cases > 0) continue;
    CHECK(one.after == doctest::Approx(one.sought && prior.guess > 0 ? prior.guess : one.before));
  }
  CHECK(any);
  // The network is the table's own in every case, so none tells how it differs between sites.
  CHECK(of(first, Uncertain::network).cases == 0);
  // Every table keeps the name that says whether the host blocks: no asynchronous one tells of
  // blocking.
  CHECK(of(first, Uncertain::blocking).cases == 0);

  for (ConstantPrior& prior : priors.constants) {
    if (prior.guess > 0) prior.sd *= 2;
  }
  const SpreadReport second = estimate_spread(library, runs, priors);
  for (const SpreadEstimate& one : first.constants) {
    CAPTURE(name(one.constant));
    if (one.sought) CHECK(of(second, one.constant).after == one.after);
  }
}

TEST_CASE("spreads of memory are what tables leave with the constants of their own stacks") {
  const Library library({});
  auto runs = read_measured_runs(PREQUEL_DATA_DIR "/runs/simumax-b200.csv");
  const Uncertainty priors = read_uncertainty(library.open("uncertainty", "priors"));
  const SpreadReport report = estimate_spread(library, runs, priors);
  const auto at = [&](Uncertain constant) {
    return report.constants[static_cast<std::size_t>(constant)];
  };
  // Its memory is met within 2 %, so that it narrows what was guessed.
  for (const Uncertain constant : {Uncertain::activations, Uncertain::peak}) {
    CHECK(at(constant).cases > 0);
    CHECK(at(constant).after < priors.constants[static_cast<std::size_t>(constant)].guess);
  }
}

TEST_CASE("coverage counts what lies inside") {
  const Coverage counted = coverage({0.0, -0.73, 1.0, 2.0, -9.0});
  CHECK(counted.n == 5);
  CHECK(counted.inside[0] == doctest::Approx(0.4));
  CHECK(counted.inside[1] == doctest::Approx(0.6));
  CHECK(counted.inside[2] == doctest::Approx(0.8));
  CHECK(coverage({}).n == 0);
}
