#include "sim/search/space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/rules.hpp"
#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

PlanRequest request_of(const Plan& plan) {
  PlanRequest request;
  each_axis([&](const auto& axis) { axis.of(request) = axis.of(plan); });
  return request;
}

TEST_CASE("every plan of a space is legal, uses all GPUs and stands there once") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 256);
  const Candidates found = legal_plans(axes_for(inputs, 4, true), inputs);
  CHECK(found.legal.size() > 300);
  CHECK(found.considered > found.plans());
  std::set<std::string> seen;
  for (const auto& [plan, shape, none] : plans_apart(found.legal)) {
    CHECK(shape == shape_of(inputs.model));
    CHECK(plan.gpus == 32);
    CHECK(judge_plan(request_of(plan), inputs.model, inputs.cluster, inputs.software)
              .problems.empty());
    std::string text;
    each_axis([&, &plan = plan](const auto& axis) { text += cell_of(axis.of(plan)) + "/"; });
    CHECK(seen.insert(text).second);
  }
}

TEST_CASE("a space leaves out no legal plan: the same as all combinations, one by one") {
  const SearchInputs inputs = shipped_inputs("gpt-3.6b", "selene", 64);
  const Candidates found = legal_plans(axes_for(inputs, 2), inputs);
  std::size_t legal = 0;
  for (const std::int64_t tp : {1, 2, 4, 8}) {
    for (std::int64_t pp = 1; pp <= inputs.model.layers; ++pp) {
      for (const std::int64_t mbs : {1, 2, 4, 8, 16, 32, 64}) {
        for (std::int64_t vpp = 1; vpp <= 16; ++vpp) {
          for (const bool sequence_parallel : {false, true}) {
            if (sequence_parallel && tp == 1) continue;  // without effect
            for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
              PlanRequest request;
              request.nodes = 2;
              request.tp = tp;
              request.pp = pp;
              request.vpp = vpp;
              request.mbs = mbs;
              request.gbs = 64;
              request.sequence_parallel = sequence_parallel;
              request.recompute = recompute;
              legal += judge_plan(request, inputs.model, inputs.cluster, inputs.software)
                               .problems.empty()
                           ? 1
                           : 0;
            }
          }
        }
      }
    }
  }
  CHECK(found.plans() == static_cast<std::int64_t>(legal));
}

TEST_CASE("a space has no offload on a cluster whose hosts are not known") {
  for (const auto& [cluster, any] :
       {std::pair{"mosaic-r1z1-a100-80gb", false}, {"dgx-a100", true}}) {
    const SearchInputs inputs = shipped_inputs("gpt2-345m", cluster, 64, "deepspeed-megatron-2020");
    const Candidates found = legal_plans(axes_for(inputs, 1), inputs);
    CHECK(found.legal.size() > 10);
    CHECK(std::ranges::any_of(found.legal, [](const Candidate& each) {
            return each.plan.offload != Offload::none;
          }) == any);
  }
}

TEST_CASE("a stack that splits no model has plans that split none, unless they are asked for") {
  const SearchInputs inputs = shipped_inputs("llama-3-8b", "dgx-h100", 64, "hf-peft-2023");
  SearchAxes axes = axes_for(inputs, 1);
  const auto splits = [](const Candidate& each) {
    return each.plan.tp * each.plan.pp * each.plan.cp > 1;
  };
  const Candidates found = legal_plans(axes, inputs);
  CHECK_FALSE(found.legal.empty());
  CHECK(std::ranges::none_of(found.legal, splits));
  axes.tp = {2};
  const Candidates asked = legal_plans(axes, inputs);
  CHECK_FALSE(asked.legal.empty());
  CHECK(std::ranges::all_of(asked.legal, splits));
}

TEST_CASE("of several shapes, each has the plans that a model of that shape has") {
  SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 256);
  SearchAxes axes = axes_for(inputs, 4);
  const ModelShape own = shape_of(inputs.model);
  const ModelShape deeper{own.layers + 8, own.hidden, own.heads};
  const ModelShape odd{own.layers, own.hidden, own.heads + 1};
  axes.shapes = {own, odd, deeper};
  axes.pp = {1, 2, 4, 8};
  axes.vpp = {1, 2};
  const Candidates found = legal_plans(axes, inputs);
  const auto of_shape = [&](const ModelShape& shape) {
    return std::ranges::count(found.legal, shape, &Candidate::shape);
  };
  CHECK(of_shape(odd) == 0);
  CHECK(of_shape(own) + of_shape(deeper) == std::ssize(found.legal));
  axes.shapes = {own};
  CHECK(std::ssize(legal_plans(axes, inputs).legal) == of_shape(own));
  inputs.model = reshaped(inputs.model, deeper);
  axes.shapes = {deeper};
  CHECK(std::ssize(legal_plans(axes, inputs).legal) == of_shape(deeper));
}

TEST_CASE("where nothing is legal, the nearest refusals say why") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 7);
  PlanRequest request;
  request.nodes = 1;
  request.tp = 8;
  request.mbs = 2;
  request.gbs = 7;
  const Candidates found = legal_plans({{request, shape_of(inputs.model)}}, inputs);
  CHECK(found.legal.empty());
  REQUIRE(found.nearest.size() == 1);
  CHECK(
      found.nearest.front().problems ==
      std::vector<std::string>{"plan: gbs 7: not a multiple of dp 1 x mbs 2 = 2; 6 or 8 would do"});
}

}  // namespace
}  // namespace prequel
