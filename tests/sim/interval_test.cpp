#include "sim/answer/interval.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "hw/base/json_cursor.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/answer/odds.hpp"
#include "tests/scenarios.hpp"
#include "tests/sim/shipped_priors.hpp"

namespace prequel {
namespace {

Interval interval_of(const Scenario& scenario, double level = kIntervalLevel) {
  return interval(scenario, predict(scenario), priors(), level);
}

TEST_CASE("a verdict is tight between 10 and 90 %, and where the allocator has no room") {
  const MemoryVerdict fits = MemoryVerdict::fits, tight = MemoryVerdict::tight;
  CHECK(verdict_of(0.95, fits) == fits);
  CHECK(verdict_of(0.95, tight) == tight);
  CHECK(verdict_of(0.89, fits) == tight);
  CHECK(verdict_of(0.11, MemoryVerdict::oom) == tight);
  CHECK(verdict_of(0.05, MemoryVerdict::oom) == MemoryVerdict::oom);
}

TEST_CASE("an interval holds the prediction, grows with its level and is the same each time") {
  const Scenario scenario = shipped_scenario();
  const Prediction prediction = predict(scenario);
  double width = 0.0;
  for (const double level : {0.5, 0.8, 0.95}) {
    const Interval one = interval_of(scenario, level);
    CHECK(one.time_low < prediction.sec_per_iter);
    CHECK(one.time_high > prediction.sec_per_iter);
    CHECK(one.memory_low < prediction.peak_memory);
    CHECK(one.memory_high >= prediction.peak_memory);
    CHECK(one.time_high / one.time_low > width);
    width = one.time_high / one.time_low;
  }
  CHECK(interval_of(scenario).time_high == interval_of(scenario).time_high);
}

TEST_CASE("sources are parts of one variance, the largest first") {
  const Interval one = interval_of(shipped_scenario());
  REQUIRE(one.sources.size() == 3);
  CHECK(one.sources[0].share >= one.sources[1].share);
  CHECK(one.sources[1].share >= one.sources[2].share);
  CHECK(one.sources[0].share + one.sources[1].share + one.sources[2].share <= 1.0 + 1e-9);
}

TEST_CASE("a stack that was not checked here, or whose release is not known, is wider") {
  const double own = interval_of(shipped_scenario()).time_scale;
  Scenario elsewhere = shipped_scenario();
  elsewhere.cluster.name = "another";
  const double other = interval_of(elsewhere).time_scale;
  CHECK(other > own);
  elsewhere.software.stands_for = "megatron-deepspeed-2031";
  CHECK(interval_of(elsewhere).time_scale > other);
}

TEST_CASE("edited constants state no error of the file and are wider by their priors") {
  const Interval checked = interval_of(shipped_scenario());
  Scenario scenario = shipped_scenario();
  scenario.edited = {"software.kernels.gemm_time_factor"};
  const Interval edited = interval_of(scenario);
  CHECK(checked.earned);
  CHECK_FALSE(edited.earned);
  CHECK(edited.time_scale > checked.time_scale);
  CHECK(edited.basis.find("gemm_time_factor was edited") != std::string::npos);
  Prediction prediction = predict(scenario);
  state_error(edited, prediction);
  CHECK(prediction.relative_error == edited.expected_error());
  // An edit that no constant speaks for counts as every time.
  scenario.edited = {"software.memory.logit_bytes_of_another_name"};
  CHECK(interval_of(scenario).time_scale > checked.time_scale);
}

TEST_CASE("what no run of a family had widens an answer, by name") {
  Uncertainty known = priors();
  const Scenario scenario = shipped_scenario();
  const Prediction prediction = predict(scenario);
  known.news = {1.0, 0.025, 0.03, 0.1};
  known.families = {{scenario.software.framework,
                     RunKind{},
                     {cell_of(scenario.model, scenario.device)},
                     0.08,
                     1000,
                     8,
                     8,
                     1e6}};
  const double seen = interval(scenario, prediction, known).time_scale;
  const auto variance = [](double scale) { return scale * scale; };
  known.families[0].cells = {};
  const Interval unseen = interval(scenario, prediction, known);
  CHECK(variance(unseen.time_scale) == doctest::Approx(variance(seen) + 0.08 * 0.08));
  CHECK(unseen.sources[0].name == "a model and card that no run is of");
  known.families[0].nodes = 12;  // of 48: two doublings
  CHECK(variance(interval(scenario, prediction, known).time_scale) ==
        doctest::Approx(variance(unseen.time_scale) + 0.2 * 0.2));
  // A name is no shape.
  Scenario renamed = scenario;
  renamed.model.name = "another";
  CHECK(cell_of(renamed.model, renamed.device) == cell_of(scenario.model, scenario.device));
}

TEST_CASE("a machine that no file describes widens the time, not memory") {
  Scenario elsewhere = shipped_scenario();
  elsewhere.cluster.name = "another";
  const Interval described = interval_of(elsewhere);
  elsewhere.cluster.stands_for = "a-site";
  const Interval unknown = interval_of(elsewhere);
  CHECK(unknown.time_scale > described.time_scale);
  CHECK(unknown.memory_scale == described.memory_scale);
}

TEST_CASE("what the runs on a cluster share widens the answers there, and no pair of plans") {
  const Scenario scenario = shipped_scenario();
  const Prediction prediction = predict(scenario);
  const auto with = [](double time, double memory) {
    Uncertainty known = priors();
    for (CheckedStack& stack : known.checked) {
      for (CheckedCluster& cluster : stack.clusters) {
        cluster.time = time;
        cluster.memory = memory;
      }
    }
    return known;
  };
  const auto variance = [](double scale) { return scale * scale; };
  const Interval alone = interval(scenario, prediction, with(0, 0));
  const Interval shared = interval(scenario, prediction, with(0.2, 0.1));
  CHECK(variance(shared.time_scale) ==
        doctest::Approx(variance(alone.time_scale) + 0.2 * 0.2).epsilon(1e-9));
  CHECK(variance(shared.memory_scale) ==
        doctest::Approx(variance(alone.memory_scale) + 0.1 * 0.1).epsilon(1e-9));
  const UncertainPlan here{prediction.sec_per_iter.value, alone.slopes};
  UncertainPlan slower = here;
  slower.value *= 1.05;
  const auto odds = [&](const Uncertainty& known) {
    return better_probability(here, slower, spread_of(scenario, known));
  };
  CHECK(odds(with(0.2, 0.1)) == doctest::Approx(odds(with(0, 0))));
}

TEST_CASE("kernels that nobody measured on a device widen the time that they take, not memory") {
  Scenario scenario = shipped_scenario();
  const Interval fitted = interval_of(scenario);
  scenario.device.errors.unmeasured = 0.25;
  const Interval assumed = interval_of(scenario);
  const auto variance = [](double scale) { return scale * scale; };
  CHECK(variance(assumed.time_scale) ==
        doctest::Approx(variance(fitted.time_scale) + 0.25 * 0.25).epsilon(1e-9));
  CHECK(assumed.memory_scale == fitted.memory_scale);
  CHECK(assumed.sources[0].name == "all");
}

TEST_CASE("a file that says how sure it is of a number is believed") {
  const auto stated = [](const char* sd) {
    return interval_of(shipped_scenario({{"software.host.fixed_per_iteration_s",
                                          std::string("{\"value\": 9, \"sd\": ") + sd + "}"}}))
        .time_scale;
  };
  CHECK(stated("0.01") < stated("0.5"));
  CHECK(stated("0.5") < stated("2"));
}

TEST_CASE("a plan fits with more probability where it needs less") {
  double last = 1.0;
  for (const char* mbs : {"1", "2", "4", "8", "16"}) {
    const double fits = interval_of(shipped_scenario({{"plan.mbs", mbs}})).fits_probability;
    CHECK(fits <= last);
    CHECK(fits >= 0.0);
    last = fits;
  }
  CHECK(last < 0.5);
}

TEST_CASE("errors that plans share cancel when they are compared") {
  const Scenario scenario = shipped_scenario();
  const Spread spread = spread_of(scenario, priors());
  Deviations slopes{};
  slopes[static_cast<std::size_t>(Uncertain::gemm)] = 0.6;
  slopes[static_cast<std::size_t>(Uncertain::network)] = 0.3;
  const std::vector<UncertainPlan> alike{{10.0, slopes}, {10.5, slopes}};
  Deviations others{};
  others[static_cast<std::size_t>(Uncertain::host)] = 0.9;
  const std::vector<UncertainPlan> unlike{{10.0, slopes}, {10.5, others}};
  CHECK(odds(alike, spread)[0].best > odds(unlike, spread)[0].best);
  double sum = 0.0;
  for (const Odds& one : odds(unlike, spread)) {
    sum += one.best;
    CHECK(one.expected_loss >= 0.0);
  }
  CHECK(sum == doctest::Approx(1.0));
  CHECK(odds({{3.0, slopes}}, spread)[0].best == doctest::Approx(1.0));
  CHECK(odds({}, spread).empty());
}

TEST_CASE("the odds of a pair are those of its draws, and of both ways one") {
  const Spread spread = spread_of(shipped_scenario(), priors());
  Deviations slopes{}, others{};
  slopes[static_cast<std::size_t>(Uncertain::gemm)] = 0.6;
  others[static_cast<std::size_t>(Uncertain::host)] = 0.9;
  const UncertainPlan first{10.0, slopes}, second{10.5, others};
  const double better = better_probability(first, second, spread);
  CHECK(better == doctest::Approx(odds({first, second}, spread)[0].best).epsilon(0.06));
  CHECK(better + better_probability(second, first, spread) == doctest::Approx(1.0));
  CHECK(better_probability(first, first, spread) == doctest::Approx(0.5));
}

TEST_CASE("the most promising plans are those that are the best most probably") {
  const std::vector<Odds> odds{{0.2, 0.1}, {0.5, 0.0}, {0.3, 0.2}};
  CHECK(most_promising(odds, 2) == std::vector<std::size_t>{1, 2});
  CHECK(most_promising(odds, 9) == std::vector<std::size_t>{1, 2, 0});
}

TEST_CASE("of plans that draws cannot tell apart, the first is named, and then the most unlike") {
  const std::vector<Odds> odds{{0.20, 0}, {0.21, 0}, {0.19, 0}, {0.20, 0}, {0.05, 0}};
  const std::vector<double> kinds{0, 0, 0, 3, 9};
  const auto unlike = [&](std::size_t a, std::size_t b) { return std::abs(kinds[a] - kinds[b]); };
  CHECK(most_promising(odds, 2, unlike) == std::vector<std::size_t>{0, 3});
  CHECK(most_promising(odds, 3, unlike) == std::vector<std::size_t>{0, 3, 1});
  CHECK(most_promising(odds, 9, unlike).size() == odds.size());
  // A plan that is more probable by more than chance comes first, however alike.
  const std::vector<Odds> apart{{0.5, 0}, {0.4, 0}, {0.1, 0}};
  CHECK(most_promising(apart, 2, unlike) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("a plan is the best where it runs, and others are where it does not") {
  const Spread spread = spread_of(shipped_scenario(), priors());
  Deviations slopes{};
  slopes[static_cast<std::size_t>(Uncertain::gemm)] = 0.6;
  const auto fitting = [&](double first, double second) {
    return odds({{10.0, slopes, first}, {20.0, slopes, second}}, spread);
  };
  CHECK(fitting(1.0, 1.0)[0].best == doctest::Approx(1.0));
  const auto some = fitting(0.6, 1.0);
  CHECK(some[0].best == doctest::Approx(0.6).epsilon(0.01));
  CHECK(some[1].best == doctest::Approx(0.4).epsilon(0.01));
  CHECK(some[0].expected_loss < 0.01);
  const auto few = fitting(0.3, 0.3);  // where one does not run, neither does the other
  CHECK(few[0].best == doctest::Approx(0.3).epsilon(0.01));
  CHECK(few[1].best == 0.0);
  CHECK(fitting(0.0, 0.0)[0].best == 0.0);
}

TEST_CASE("a release whose runs were checked is as sure as the stack that stood in for it") {
  Uncertainty known = priors();
  const Scenario own = shipped_scenario();
  Scenario later = own;
  later.software.stands_for = "megatron-deepspeed-2031";
  CHECK_FALSE(spread_of(later, known).earned);
  for (CheckedStack& stack : known.checked) stack.releases.push_back(later.software.stands_for);
  CHECK(spread_of(later, known).earned);
  CHECK(spread_of(later, known).time_noise == spread_of(own, known).time_noise);
}

}  // namespace

TEST_CASE("the more alike two plans are, the more of their scatter cancels") {
  Spread spread = spread_of(shipped_scenario(), priors());
  spread.scatter = {0.4, {0.1, 0.2, 0.1, 0.1}};
  CHECK(spread.scatter.own() == doctest::Approx(0.1));
  const PlanTraits here{1, 2, 3, 4};
  CHECK(spread.scatter.shared(here, here) == doctest::Approx(0.9));
  CHECK(spread.scatter.shared(here, {1, 9, 3, 4}) == doctest::Approx(0.7));
  CHECK(spread.scatter.shared(here, {9, 9, 9, 9}) == doctest::Approx(0.4));
  const auto better = [&](const PlanTraits& other) {
    return better_probability({10.0, {}, 1.0, here}, {10.4, {}, 1.0, other}, spread);
  };
  const auto drawn = [&](const PlanTraits& other) {
    return odds({{10.0, {}, 1.0, here}, {10.4, {}, 1.0, other}}, spread)[0].best;
  };
  for (const PlanTraits& other : {here, PlanTraits{1, 9, 3, 4}, PlanTraits{9, 9, 9, 9}}) {
    CHECK(better(other) == doctest::Approx(drawn(other)).epsilon(0.06));
  }
  CHECK(better(here) > better({1, 9, 3, 4}));
  CHECK(better({1, 9, 3, 4}) > better({9, 9, 9, 9}));
}

TEST_CASE("plans are alike in a trait where all its axes are equal") {
  Scenario scenario = shipped_scenario();
  const PlanTraits here = traits_of(scenario.plan);
  scenario.plan.mbs *= 2;
  const PlanTraits other = traits_of(scenario.plan);
  CHECK(other[2] != here[2]);
  CHECK(other[0] == here[0]);
  CHECK(other[1] == here[1]);
  CHECK(other[3] == here[3]);
  CHECK(traits_of(shipped_scenario().plan) == here);
}

}  // namespace prequel
