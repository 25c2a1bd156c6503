#include "sim/search/relaxation.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

SearchAxes said_of(std::int64_t nodes, std::int64_t gbs) {
  SearchAxes said;
  said.nodes = {nodes};
  said.gbs = {gbs};
  return said;
}

std::vector<std::string> limits_of(const std::vector<Relaxation>& found) {
  std::vector<std::string> limits;
  for (const Relaxation& each : found) limits.push_back(each.limit);
  return limits;
}

/// Each lets plans fit, and its best one does: as a search with that limit given up says.
void check(const std::vector<Relaxation>& found, const SearchInputs& inputs) {
  for (const Relaxation& each : found) {
    CHECK(each.fitting > 0);
    const Prediction prediction = predict_plan(inputs, each.best.plan, each.best.shape);
    CHECK(prediction.verdict != MemoryVerdict::oom);
    CHECK(prediction.sec_per_iter.value == each.best.sec_per_iter);
  }
}

TEST_CASE("of limits that stand in the way, those are named that suffice alone") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  SearchAxes said = said_of(48, 2048);
  said.tp = {4};
  said.pp = {12};
  said.vpp = {1};
  said.recompute = {Recompute::none};
  const auto found = relaxations(said, inputs, {}, Reach::usual);
  const std::vector<std::string> limits = limits_of(found);
  check(found, inputs);
  CHECK(std::ranges::count(limits, "tp") == 1);
  CHECK(std::ranges::count(limits, "recompute") == 1);
  CHECK(std::ranges::count(limits, "vpp") == 0);  // does not help
  CHECK(std::ranges::count(limits, "mbs") == 0);  // was not said
}

TEST_CASE("where the model is too large for the nodes, a few more are named") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  const auto found = relaxations(said_of(2, 2048), inputs, {}, Reach::usual);
  check(found, inputs);
  REQUIRE(found.size() == 1);
  CHECK(found.front().limit == "nodes " + std::to_string(found.front().best.plan.nodes));
  CHECK(found.front().best.plan.nodes > 2);
  CHECK(found.front().best.plan.nodes < 12);
}

TEST_CASE("relaxing ends with its time, and leaves layouts by hand that nobody asked for") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  CHECK(relaxations(said_of(2, 2048), inputs, {}, Reach::usual, {}, 0).empty());
  for (const Relaxation& found : relaxations(said_of(2, 2048), inputs, {}, Reach::usual)) {
    CHECK(found.best.plan.layout.empty());
  }
}

TEST_CASE("requirements and the head-room are given up one by one, also of plans in a table") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  SearchLimits limits;
  limits.requirements = {Requirement::parse("dp > 5000"), Requirement::parse("tp <= 8")};
  const auto found = relaxations(legal_plans(axes_for(inputs, 48), inputs), inputs, limits);
  check(found, inputs);
  CHECK(limits_of(found) == std::vector<std::string>{"require 'dp > 5000'"});

  SearchLimits roomy;
  roomy.memory_headroom = 0.99;
  CHECK(limits_of(relaxations(said_of(48, 2048), inputs, roomy, Reach::usual)) ==
        std::vector<std::string>{"memory_headroom"});
}

TEST_CASE("a requirement that divides by zero for plans that nobody asked for is no error") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  SearchAxes said = said_of(48, 2048);
  said.pp = {6};
  SearchLimits limits;
  limits.requirements = {Requirement::parse("gbs / (pp - 12) > 1e9")};
  const auto found = relaxations(said, inputs, limits, Reach::usual);
  CHECK(limits_of(found) == std::vector<std::string>{"require 'gbs / (pp - 12) > 1e9'"});
}

}  // namespace
}  // namespace prequel
