#include "models/axes/axes.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/plan_request.hpp"
#include "models/plan/plan.hpp"

namespace prequel {
namespace {

using Names = std::set<std::string>;

/// The properties of an object that a schema of data/schema/ describes.
Names properties(const std::string& schema, const std::string& pointer) {
  const Document file = Document::read(PREQUEL_DATA_DIR "/schema/" + schema + ".json");
  Names names;
  for (const auto& [name, any] :
       file.json().at(nlohmann::json::json_pointer(pointer + "/properties")).items()) {
    names.insert(name);
  }
  return names;
}

template <class Wanted>
Names axes_that(const Wanted& wanted) {
  Names names;
  each_axis([&](const auto& axis) {
    if (wanted(axis)) names.emplace(axis.name);
  });
  return names;
}

TEST_CASE("the schemas have the axes of the table") {
  CHECK(properties("job-1", "/$defs/plan") == axes_that([](const auto& /*axis*/) { return true; }));
  CHECK(properties("software-1", "/$defs/software/properties/defaults") ==
        axes_that([](const auto& axis) { return has_default(axis.use); }));
  CHECK(properties("software-1", "/$defs/software/properties/choices/anyOf/0") ==
        axes_that([](const auto& axis) { return axis.has_choices(); }));
}

TEST_CASE("a cell says what was written into it, whatever the axis") {
  each_axis([](const auto& axis) {
    const auto value = plainest(axis.domain);
    CAPTURE(axis.name);
    CHECK(of_cell(cell_of(value), axis.domain) == value);
  });
  const Domain<WordSet<Overlapped>> overlap;
  const WordSet<Overlapped> both{Overlapped::grads, Overlapped::shared_experts};
  CHECK(cell_of(both) == "grads shared-experts");
  CHECK(of_cell("shared-experts,grads", overlap) == both);
  CHECK_FALSE(of_cell("grads,all", overlap).has_value());
  CHECK_FALSE(of_cell("mxfp8", kFormats).has_value());
  CHECK_FALSE(of_cell("8193", kDegree).has_value());
}

TEST_CASE("a plan says every axis, at first each at its plainest") {
  const Plan plan;
  each_axis([&](const auto& axis) {
    CAPTURE(axis.name);
    CHECK(axis.of(plan) == plainest(axis.domain));
  });
  CHECK(plan.dp == 1);
  CHECK(plan.zero == 0);
  CHECK(plan.router_balance == "forced");
}

TEST_CASE("a plan object says any axis, lists as arrays or as text") {
  const Document file = Document::parse(
      "job.json", R"({"tp": 8, "recompute_modules": ["mlp", "moe"], "cuda_graphs": "attn,mlp",
                      "optimizer_offload": 0.5, "layout": "Et|(tt|)*30L"})");
  const PlanRequest plan = read_plan(file.root());
  file.finish();
  CHECK(plan.tp == 8);
  CHECK(plan.recompute_modules == WordSet{RecomputeModule::mlp, RecomputeModule::moe});
  CHECK(plan.cuda_graphs == WordSet{GraphedModule::attn, GraphedModule::mlp});
  CHECK(plan.optimizer_offload == 0.5);
  CHECK(plan.layout == "Et|(tt|)*30L");
  CHECK_FALSE(plan.pp.has_value());
}

}  // namespace
}  // namespace prequel
