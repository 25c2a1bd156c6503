#include "sim/answer/difference.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "hw/base/json_cursor.hpp"
#include "tests/scenarios.hpp"
#include "tests/sim/shipped_priors.hpp"

namespace prequel {
namespace {

struct Answer {
  Scenario scenario;
  Prediction prediction;
  Interval known;

  [[nodiscard]] ComparedAnswer compared() const { return {scenario, prediction, known}; }
};

Answer answered(const Settings& overrides = {}, const std::optional<std::string>& cluster = {},
                const std::optional<std::string>& software = {}) {
  Answer answer{resolve(shipped_job(overrides, software, cluster)).scenario, {}, {}};
  answer.prediction = predict(answer.scenario);
  answer.known = interval(answer.scenario, answer.prediction, priors());
  return answer;
}

Difference between(const Answer& first, const Answer& second) {
  return difference(first.compared(), second.compared(), priors());
}

TEST_CASE("of two that are the same all errors but those of the runs cancel") {
  const Answer one = answered();
  const Difference same = between(one, one);
  CHECK(same.speed_ratio == 1.0);
  CHECK(same.first_is_faster == doctest::Approx(0.5));
  CHECK(same.cancelled > 0.3);
  REQUIRE(same.sources.size() == 1);
  CHECK(same.sources[0].name == "run to run");
  CHECK(same.sources[0].share == doctest::Approx(1.0));
}

TEST_CASE("turned round, the ratio and the odds turn round, too") {
  const Answer one = answered(), other = answered({{"plan.mbs", "1"}});
  const Difference there = between(one, other), back = between(other, one);
  CHECK(there.speed_ratio * back.speed_ratio == doctest::Approx(1.0));
  CHECK(there.first_is_faster + back.first_is_faster == doctest::Approx(1.0));
  CHECK(there.scale == doctest::Approx(back.scale));
  CHECK(there.ratio_low * back.ratio_high == doctest::Approx(1.0));
  CHECK(there.ratio_low < there.speed_ratio);
  CHECK(there.speed_ratio < there.ratio_high);
}

TEST_CASE("two plans of one stack are told apart better than two clusters or stacks") {
  const Answer one = answered();
  const Difference plans = between(one, answered({{"plan.mbs", "1"}}));
  const Difference stacks = between(one, answered({}, {}, "megatron-core-2024"));
  CHECK(plans.cancelled > 0.3);
  CHECK(plans.scale < stacks.scale);
  CHECK(stacks.cancelled < plans.cancelled);
  const double alone = std::hypot(one.known.time_scale, one.known.time_scale);
  CHECK(plans.scale < alone);
}

TEST_CASE("the variance of what nothing is shared of is the sum of both") {
  const Answer one = answered();
  Answer other = one;
  other.scenario.cluster.name = "another site";
  other.scenario.device.name = "another card";
  other.scenario.software.host.fixed_per_iteration =
      other.scenario.software.host.fixed_per_iteration * 2.0;
  other.known = interval(other.scenario, other.prediction, priors());
  const Difference apart = between(one, other);
  CHECK(apart.scale ==
        doctest::Approx(std::hypot(one.known.time_scale, other.known.time_scale)).epsilon(1e-6));
  CHECK(apart.cancelled == doctest::Approx(0.0));
}

TEST_CASE("a constant whose number was changed errs on its own") {
  const Answer one = answered(), other = answered({{"cluster.network.efficiency", "0.5"}});
  CHECK(is_shared(Uncertain::gemm, one.scenario, other.scenario));
  CHECK(is_shared(Uncertain::all, one.scenario, other.scenario));
  CHECK_FALSE(is_shared(Uncertain::network, one.scenario, other.scenario));
}

}  // namespace
}  // namespace prequel
