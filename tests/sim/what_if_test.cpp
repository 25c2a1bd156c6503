#include "sim/answer/what_if.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

#include "sim/answer/prediction.hpp"
#include "tests/error_text.hpp"
#include "tests/limited_threads.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

WhatIf slow_node(std::int64_t node, double speed) {
  WhatIf question;
  question.slow_nodes = {{node, speed}};
  return question;
}

WhatIf jitter(std::uint64_t seed) {
  WhatIf question;
  question.jitter = 0.02;
  question.seed = seed;
  question.samples = 10;
  return question;
}

WhatIf degraded(const std::string& level, double fraction) {
  WhatIf question;
  question.link_fractions = {{level, fraction}};
  return question;
}

/// A fully sharded plan on 4 nodes of 8 devices.
Scenario sharded_scenario() {
  return planned("llama-3-8b", "dgx-h100", "pytorch-fsdp2-2024",
                 {{"plan.nodes", "4"}, {"plan.gbs", "128"}, {"plan.mbs", "2"}});
}

TEST_CASE("with all nodes at full speed, all ranks take as long as predicted") {
  const Scenario scenario = shipped_scenario();
  const StepDistribution step = what_if(scenario, slow_node(0, 1.0));
  CHECK(step.mean == doctest::Approx(predict(scenario).sec_per_iter.value).epsilon(1e-9));
  CHECK(step.p5 == step.p95);
}

TEST_CASE("a slow node of the slowest stage slows the iteration, by no more than its own loss") {
  const Scenario scenario = shipped_scenario();
  const Prediction prediction = predict(scenario);
  const double usual = prediction.sec_per_iter.value;
  const std::int64_t nodes_per_stage = scenario.plan.nodes / scenario.plan.pp;
  const auto node = static_cast<std::int64_t>(prediction.slowest_stage) * nodes_per_stage;
  const double slow = what_if(scenario, slow_node(node, 0.9)).mean;
  CHECK(slow > 1.05 * usual);
  CHECK(slow < usual / 0.9);
}

/// Plans of models with experts, with and without overlap.
class ExpertPlans {
 public:
  Scenario scenario(const std::string& balance) {
    JobRequest request;
    request.model = one_of({"qwen3-30b-a3b", "deepseek-v2-lite"});
    request.cluster = "nvidia-dgx-h100";
    request.software = "megatron-core-2026";
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    const std::int64_t pp = one_of<std::int64_t>({1, 2, 4});
    const std::int64_t tp = one_of<std::int64_t>({1, 1, 2});
    request.overrides = {
        {"plan.dp", number(32 / pp / tp)},
        {"plan.pp", number(pp)},
        {"plan.tp", number(tp)},
        {"plan.ep", number(std::min<std::int64_t>(one_of({2, 4, 8, 16}), 32 / pp))},
        {"plan.etp", number(1)},
        {"plan.mbs", "1"},
        {"plan.gbs", number(32 * one_of({1, 4, 10}))},
        {"plan.seq_len", "4096"},
        {"plan.overlap", one_of<const char*>({"none", "ep", "grads"})},
        {"plan.router_balance", balance}};
    const Job job = read_job(shipped_library(), request);
    return resolve(job).scenario;
  }

 private:
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[random_() % values.size()];
  }

  std::mt19937 random_{17};
};

TEST_CASE("ranks that exchange tokens take as long as predicted, if all are at full speed") {
  ExpertPlans plans;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const Scenario scenario = plans.scenario(i % 2 == 0 ? "forced" : "natural");
    CHECK(what_if(scenario, slow_node(0, 1.0)).mean ==
          doctest::Approx(predict(scenario).sec_per_iter.value).epsilon(1e-9));
  }
}

TEST_CASE("drawn loads of experts are never faster than balanced ones, and on average as priced") {
  ExpertPlans plans;
  WhatIf question = jitter(3);
  question.jitter = 1e-12;  // of the loads alone
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const Scenario natural = plans.scenario("natural");
    Scenario balanced = natural;
    balanced.plan.imbalance = 1;
    const StepDistribution step = what_if(natural, question);
    CHECK(step.p5 >= predict(balanced).sec_per_iter.value * (1 - 1e-9));
    CHECK(step.mean == doctest::Approx(predict(natural).sec_per_iter.value).epsilon(0.02));
  }
}

TEST_CASE("a distribution is the same for the same seed, and in order") {
  const Scenario scenario = shipped_scenario();
  const WhatIf question = jitter(1);
  const StepDistribution step = what_if(scenario, question);
  CHECK(step.mean == what_if(scenario, question).mean);
  CHECK(step.mean != what_if(scenario, jitter(100)).mean);
  CHECK(step.p5 < step.p50);
  CHECK(step.p50 < step.p95);
  CHECK(step.p5 > predict(scenario).sec_per_iter.value);
}

TEST_CASE("a node outside the job is refused with the nearest that is in it") {
  CHECK(error_text([] { what_if(shipped_scenario(), slow_node(48, 0.9)); }) ==
        "slow_node 48: the job runs on nodes 0 to 47; 47 would do");
}

TEST_CASE(
    "fully sharded ranks take as long as predicted, and wait for a slow node in every layer") {
  const Scenario scenario = sharded_scenario();
  const double usual = predict(scenario).sec_per_iter.value;
  CHECK(what_if(scenario, slow_node(0, 1.0)).mean == doctest::Approx(usual).epsilon(1e-9));
  const double slow = what_if(scenario, slow_node(3, 0.8)).mean;
  CHECK(slow > 1.1 * usual);
  CHECK(slow <= usual / 0.8);
  CHECK(what_if(scenario, jitter(1)).p5 > usual);
}

TEST_CASE("degraded links slow what passes them, as those of a slower cluster would") {
  const Scenario scenario = shipped_scenario();
  const double usual = predict(scenario).sec_per_iter.value;
  double before = usual;
  for (const double fraction : {1.0, 0.5, 0.1}) {
    Scenario slower = scenario;
    slower.cluster = with_link_fraction(scenario.cluster, LinkClass::nic, fraction);
    const double expected = predict(slower).sec_per_iter.value;
    CHECK(what_if(scenario, degraded("nic", fraction)).mean ==
          doctest::Approx(expected).epsilon(1e-9));
    CHECK(expected >= before);
    before = expected;
  }
  CHECK(before > usual);
}

TEST_CASE("links inside nodes slow tensor parallelism, spines nothing that stays below them") {
  const Scenario scenario = shipped_scenario();
  const double usual = predict(scenario).sec_per_iter.value;
  CHECK(what_if(scenario, degraded("nvlink", 0.5)).mean > 1.02 * usual);
  CHECK(what_if(scenario, degraded("spine", 0.05)).mean > usual);
}

TEST_CASE("links that the cluster does not have are refused with those it has") {
  CHECK(error_text([] { what_if(shipped_scenario(), degraded("spin", 0.5)); }) ==
        "link_fraction spin: jean-zay-a100 has no such links (did you mean \"spine\"?); it "
        "has nvlink, pcie, nic, spine, core");
  CHECK(error_text([] { what_if(shipped_scenario(), degraded("torus", 0.5)); }) ==
        "link_fraction torus: jean-zay-a100 has no such links; it has nvlink, pcie, nic, "
        "spine, core");
}

TEST_CASE("samples are the same to the last bit on one thread and on several") {
  const Scenario scenario = shipped_scenario();
  const StepDistribution expected = what_if(scenario, jitter(5));
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    with_threads(threads, [&] {
      const StepDistribution step = what_if(scenario, jitter(5));
      CHECK(step.mean == expected.mean);
      CHECK(step.p5 == expected.p5);
      CHECK(step.p95 == expected.p95);
    });
  }
}

}  // namespace
}  // namespace prequel
