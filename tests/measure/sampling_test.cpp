#include "calibrate/measure/sampling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace prequel {
namespace {

/// Time that passes only when something runs.
struct FakeTime {
  double now{};
  [[nodiscard]] Clock clock() {
    return [this] { return Seconds{now}; };
  }
  [[nodiscard]] std::function<Seconds()> run(std::function<double()> duration) {
    return [this, duration = std::move(duration)] {
      const double time = duration();
      now += time;
      return Seconds{time};
    };
  }
};

bool as_here(bool here) {
  return here;
}

TEST_CASE("a steady run stops at the first look at its interval") {
  FakeTime time;
  const auto samples = sample(time.run([] { return 1e-3; }), {}, time.clock(), as_here);
  CHECK(samples.size() == 10);
}

TEST_CASE("a noisy run is repeated until its median is certain within one per cent") {
  FakeTime time;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1e-3, 5e-5);
  const auto samples = sample(time.run([&] { return noise(random); }), {}, time.clock(), as_here);
  CHECK(samples.size() > 40);
  CHECK(samples.size() < 1000);
  CHECK(median_uncertainty(samples) <= 0.01);
  CHECK(std::abs(quantiles(samples).median.value / 1e-3 - 1.0) < 0.015);
}

TEST_CASE("the budget ends a run that stays uncertain") {
  FakeTime time;
  int turn = 0;
  SamplingRule rule;
  rule.budget = {1.0};
  sample(time.run([&] { return ++turn % 2 == 0 ? 0.01 : 0.03; }), rule, time.clock(), as_here);
  CHECK(time.now >= 1.0);
  CHECK(time.now < 1.0 + 0.03);
}

TEST_CASE("a run longer than the budget is measured once and not repeated") {
  FakeTime time;
  const auto samples = sample(time.run([] { return 5.0; }), {}, time.clock(), as_here);
  CHECK(samples == std::vector{5.0});
  CHECK(time.now == 5.0);
}

TEST_CASE("the first of a group has the last word") {
  FakeTime time;
  int calls = 0;
  const auto samples =
      sample(time.run([] { return 5.0; }), {}, time.clock(), [&](bool) { return ++calls <= 5; });
  CHECK(samples.size() == 3);  // after two runs to warm up
}

TEST_CASE("quantiles lie between samples") {
  const Quantiles found = quantiles({4, 1, 3, 2, 5});
  CHECK(found.p10.value == doctest::Approx(1.4));
  CHECK(found.median.value == 3);
  CHECK(found.p90.value == doctest::Approx(4.6));
}

TEST_CASE("the interval holds the true median about nineteen times of twenty") {
  std::mt19937 random(3);
  std::lognormal_distribution<double> skewed(0.0, 0.3);
  int held = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> samples(60);
    for (double& value : samples) value = skewed(random);
    const double half = median_uncertainty(samples);
    const double median = quantiles(samples).median.value;
    if (std::abs(1.0 - median) <= half * median * 1.15) ++held;
  }
  CHECK(held > 920);
}

TEST_CASE("five samples hold no interval") {
  CHECK(std::isinf(median_uncertainty({1, 1, 1, 1, 1})));
}

}  // namespace
}  // namespace prequel
