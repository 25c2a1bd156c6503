#include "sim/search/explanation.hpp"

#include <doctest/doctest.h>

#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

/// A search of the 176B model on 48 nodes, and questions about it.
struct Asked {
  SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  SearchAxes axes = axes_for(inputs, 48);
  SearchLimits limits;
  Candidates searched = legal_plans(axes, inputs);
  SearchResult found = search(searched, inputs, limits);

  [[nodiscard]] Explanation about(const PlanRequest& layout) const {
    return explain(layout, axes, inputs, limits, searched, found);
  }
};

PlanRequest degrees(std::int64_t tp, std::int64_t pp) {
  PlanRequest layout;
  layout.tp = tp;
  layout.pp = pp;
  return layout;
}

TEST_CASE("every plan that a search found has the rank that its place says") {
  const Asked asked;
  REQUIRE(asked.found.plans.size() > 20);
  for (std::size_t i = 0; i < asked.found.plans.size(); ++i) {
    const Plan& plan = asked.found.plans[i].plan;
    PlanRequest layout = degrees(plan.tp, plan.pp);
    layout.mbs = plan.mbs;
    layout.zero = plan.zero;
    layout.recompute = plan.recompute;
    const Explanation explanation = asked.about(layout);
    CHECK(explanation.verdict == LayoutVerdict::ranked);
    CHECK(explanation.searched);
    CHECK(explanation.rank <= i + 1);
    CHECK(asked.found.plans[explanation.rank - 1].value == asked.found.plans[i].value);
  }
}

TEST_CASE("of a layout that leaves axes open, the best plan is explained") {
  const Asked asked;
  const Explanation explanation = asked.about(degrees(4, 12));
  for (std::size_t i = 0; i + 1 < explanation.rank; ++i) {
    const Plan& better = asked.found.plans[i].plan;
    CHECK_FALSE((better.tp == 4 && better.pp == 12));
  }
  CHECK(explanation.plan->tp == 4);
  CHECK(explanation.plan->pp == 12);
  CHECK(explanation.predicted->sec_per_iter.value == explanation.value);
}

TEST_CASE("a layout that no rule allows is illegal, by the rules of the plan") {
  const Explanation explanation = Asked().about(degrees(8, 96));
  CHECK(explanation.verdict == LayoutVerdict::illegal);
  REQUIRE_FALSE(explanation.refused.empty());
  CHECK(explanation.refused.front().problems.back() ==
        "plan: pp 96: more pipeline stages than the model's 70 layers; at most pp 70 does, or at "
        "least 96 layers");
}

TEST_CASE("a layout that is too large says what the smallest of its plans lacks") {
  const Asked asked;
  PlanRequest layout = degrees(4, 12);
  layout.recompute = Recompute::none;
  const Explanation explanation = asked.about(layout);
  CHECK(explanation.verdict == LayoutVerdict::oom);
  CHECK(explanation.room.value == asked.inputs.device.memory.value);
  CHECK(explanation.needed > explanation.room);
  const Prediction& predicted = *explanation.predicted;
  CHECK(predicted.verdict == MemoryVerdict::oom);
  CHECK(predicted.stages[predicted.fullest_stage].memory.needed().value ==
        explanation.needed.value);
}

TEST_CASE("a head-room that is asked for is not there for the layout") {
  Asked asked;
  asked.limits.memory_headroom = 0.5;
  PlanRequest layout = degrees(8, 12);
  layout.recompute = Recompute::none;
  const Explanation explanation = asked.about(layout);
  CHECK(explanation.verdict == LayoutVerdict::oom);
  CHECK(explanation.room.value == 0.5 * asked.inputs.device.memory.value);
}

TEST_CASE("a layout that a requirement excludes names the requirement") {
  Asked asked;
  asked.limits.requirements = {Requirement::parse("dp % 4 == 0"), Requirement::parse("tp <= 8")};
  PlanRequest layout;
  layout.dp = 2;
  const Explanation explanation = asked.about(layout);
  CHECK(explanation.verdict == LayoutVerdict::excluded);
  CHECK(explanation.unmet == std::vector<std::string>{"dp % 4 == 0"});
}

TEST_CASE(
    "a layout that a search looked at is said to be searched, though only the best are told") {
  Asked asked;
  const SearchResult all = asked.found;
  asked.limits.best = 1;
  asked.found = search(asked.searched, asked.inputs, asked.limits);
  for (const FoundPlan& found : all.plans) {
    PlanRequest layout = degrees(found.plan.tp, found.plan.pp);
    CHECK(asked.about(layout).searched);
  }
}

TEST_CASE("a layout outside of the axes is placed among the plans found") {
  Asked asked;
  asked.axes.tp = {4};
  asked.searched = legal_plans(asked.axes, asked.inputs);
  asked.found = search(asked.searched, asked.inputs, asked.limits);
  const Explanation explanation = asked.about(degrees(8, 12));
  CHECK(explanation.verdict == LayoutVerdict::ranked);
  CHECK_FALSE(explanation.searched);
  CHECK(explanation.rank == 1);
  CHECK(explanation.value < asked.found.plans.front().value);
}

}  // namespace
}  // namespace prequel
