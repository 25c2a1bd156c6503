#include "sim/run/batch_ramp.hpp"

#include <doctest/doctest.h>

#include "tests/scenarios.hpp"

namespace prequel {
namespace {

struct Layout {
  Job job;
  Plan plan;
};

/// The shipped job of 48 nodes: dp 8, tp 8, pp 6, mbs 4.
Layout shipped_layout() {
  const Job job = shipped_job();
  return {job, resolve(job).scenario.plan};
}

BatchPoint point(std::int64_t gbs, std::int64_t fastest_mbs) {
  return {gbs, std::nullopt, BatchTime{fastest_mbs, gbs / fastest_mbs, {1.0}, 0.0}};
}

TEST_CASE("the last size of a ramp is the plan's own iteration") {
  const auto [job, plan] = shipped_layout();
  const RampCurve curve = ramp_curve(job, plan, {1024, 2048, 512});
  REQUIRE(curve.points.size() == 3);
  const Scenario scenario{job, plan};
  CHECK(curve.points.back().planned->sec_per_iter == predict(scenario).sec_per_iter);
}

TEST_CASE("a size that the micro batch does not divide has no time, and others of its own") {
  const auto [job, plan] = shipped_layout();
  const RampCurve curve = ramp_curve(job, plan, {16, 48, 16});
  CHECK_FALSE(curve.points[0].planned);
  CHECK(curve.points[0].fastest->mbs == 1);
  CHECK(curve.points[1].planned->micro_batches == 1);
}

TEST_CASE("the pipeline is full once there are as many micro batches as stages") {
  const auto [job, plan] = shipped_layout();
  CHECK(ramp_curve(job, plan, {32, 2048, 32}).first_full == 8 * 4 * 6);
  CHECK_FALSE(ramp_curve(job, plan, {32, 128, 32}).first_full);
}

TEST_CASE("iterations take longer and bubbles a smaller share the larger the batch") {
  const auto [job, plan] = shipped_layout();
  const RampCurve curve = ramp_curve(job, plan, {32, 2048, 32});
  double seconds = 0;
  double share = 1;
  for (const BatchPoint& each : curve.points) {
    const BatchTime& time = *each.planned;
    CHECK(time.sec_per_iter.value > seconds);
    seconds = time.sec_per_iter.value;
    CHECK(time.bubble / seconds <= share);
    share = time.bubble / seconds;
  }
}

TEST_CASE("small batches want small micro batches") {
  const auto [job, plan] = shipped_layout();
  const auto switches = ramp_curve(job, plan, {16, 2048, 16}).switches;
  REQUIRE(switches.size() >= 2);
  CHECK(switches.front().mbs == 1);
  CHECK(switches.back().mbs >= 2);
  for (std::size_t i = 1; i < switches.size(); ++i) {
    CHECK(switches[i].gbs > switches[i - 1].gbs);
    CHECK(switches[i].mbs > switches[i - 1].mbs);
  }
}

TEST_CASE("a micro batch reigns from where it wins at every size that it divides") {
  const auto switches =
      micro_batch_switches({point(2, 1), point(4, 2), point(6, 1), point(8, 2), point(10, 2),
                            point(12, 4), point(14, 2), point(16, 4), point(18, 2)},
                           1);
  REQUIRE(switches.size() == 3);
  CHECK(switches[0].gbs == 2);
  CHECK(switches[1].gbs == 8);
  CHECK(switches[1].mbs == 2);
  CHECK(switches[2].gbs == 12);
  CHECK(switches[2].mbs == 4);
}

}  // namespace
}  // namespace prequel
