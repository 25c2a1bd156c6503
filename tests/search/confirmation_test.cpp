#include "sim/search/confirmation.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

/// The event queue on every plan that fits, against the times that a search ranks by.
void check_all(const SearchInputs& inputs, const SearchAxes& axes) {
  const SearchResult result = search(legal_plans(axes, inputs), inputs, {});
  const auto detailed = detailed_seconds(result.plans, inputs);
  REQUIRE(result.plans.size() > 10);
  std::vector<double> sorted;
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    REQUIRE(detailed[i]);
    CHECK(agrees(result.plans[i], *detailed[i]));
    sorted.push_back(*detailed[i]);
  }
  // So the best ten of a search that plays only what it must are the event queue's best ten.
  std::ranges::sort(sorted);
  SearchLimits few;
  few.best = 10;
  const SearchResult best = search(legal_plans(axes, inputs), inputs, few);
  REQUIRE(best.plans.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(agrees(best.plans[i], sorted[i]));
}

TEST_CASE("the detailed engine finds the time of every plan of three spaces, to 1e-9") {
  const SearchInputs bloom = shipped_inputs("bloom-176b", "jean-zay-a100", 512);
  check_all(bloom, axes_for(bloom, 48));
  const SearchInputs gpt = shipped_inputs("gpt-18b", "selene", 64);
  check_all(gpt, axes_for(gpt, 2, true));
  const SearchInputs mosaic = shipped_inputs("mosaicgpt-7b", "mosaic-r1z1-a100-80gb", 64);
  check_all(mosaic, axes_for(mosaic, 1, true));
}

TEST_CASE("a time that is off by more than rounding is not confirmed") {
  FoundPlan found;
  found.sec_per_iter = 100;
  CHECK(agrees(found, 100));
  CHECK(agrees(found, 100 + 5e-8));
  CHECK_FALSE(agrees(found, 100 + 2e-7));
  CHECK_FALSE(agrees(found, 99));
}

TEST_CASE("iterations of more passes than anyone plays are left out") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 1 << 20);
  SearchAxes axes = axes_for(inputs, 1);
  axes.mbs = {1};
  axes.pp = {2};
  const SearchResult result = search(legal_plans(axes, inputs), inputs, {});
  REQUIRE_FALSE(result.plans.empty());
  CHECK_FALSE(detailed_seconds(result.plans, inputs).front());
}

}  // namespace
}  // namespace prequel
