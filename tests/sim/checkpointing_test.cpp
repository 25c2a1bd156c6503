#include "sim/run/checkpointing.hpp"

#include <random>

#include <doctest/doctest.h>

namespace prequel {
namespace {

constexpr FailureModel kJob{{5 * 86400.0}, {60.0}, {600.0}};

/// Seconds until `work` is done, failures drawn at random.
double played_run(double work, double interval, const FailureModel& failures,
                  std::mt19937_64& random) {
  std::exponential_distribution<double> until_failure(1 / failures.mtbf.value);
  double now = 0;
  double done = 0;
  while (done < work) {
    double left = interval + failures.save.value;
    bool restarting = false;
    while (true) {
      const double attempt = left + (restarting ? failures.restart.value : 0.0);
      const double failure = until_failure(random);
      if (failure >= attempt) {
        now += attempt;
        break;
      }
      now += failure;
      restarting = true;
    }
    done += interval;
  }
  return now;
}

TEST_CASE("the best interval to first order is the square root of twice save times mtbf") {
  CHECK(young_interval({{20000.0}, {100.0}, {}}).value == doctest::Approx(2000.0));
}

TEST_CASE("the higher order takes the save off, and never waits longer than a failure takes") {
  CHECK(daly_interval(kJob).value ==
        doctest::Approx(young_interval(kJob).value - kJob.save.value).epsilon(0.01));
  CHECK(daly_interval({{100.0}, {200.0}, {}}).value == 100.0);
}

TEST_CASE("no interval is expected to lose less than the best one, within a thousandth") {
  const Seconds work{1e6};
  const double best = expected_time(work, daly_interval(kJob), kJob).value;
  for (double interval = 600; interval < 1e5; interval *= 1.1) {
    CHECK(expected_time(work, {interval}, kJob).value > 0.999 * best);
  }
}

TEST_CASE("failures that never come leave the time of saving") {
  const FailureModel rare{{1e15}, {60.0}, {600.0}};
  CHECK(expected_time({36000.0}, {3600.0}, rare).value == doctest::Approx(36600.0));
}

TEST_CASE("the expected time is the mean over runs with random failures") {
  const FailureModel failures{{3000.0}, {100.0}, {200.0}};
  std::mt19937_64 random(1);
  double sum = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) sum += played_run(100000, 1000, failures, random);
  CHECK(sum / kRuns ==
        doctest::Approx(expected_time({100000.0}, {1000.0}, failures).value).epsilon(0.01));
}

}  // namespace
}  // namespace prequel
