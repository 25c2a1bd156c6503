#include "sim/search/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/limited_threads.hpp"
#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

/// Every plan by the ordinary prediction, the best first.
std::vector<FoundPlan> one_by_one(const std::vector<Candidate>& plans, const SearchInputs& inputs) {
  std::vector<FoundPlan> found;
  for (const auto& [plan, shape] : plans) {
    const Prediction prediction = predict_plan(inputs, plan, shape);
    if (prediction.verdict == MemoryVerdict::oom) continue;
    const double seconds = prediction.sec_per_iter.value;
    found.push_back({plan, shape, seconds, seconds, prediction.peak_memory, prediction.verdict});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.value < b.value; });
  return found;
}

void check_against_predictions(const SearchInputs& inputs, const SearchAxes& axes) {
  const Candidates candidates = legal_plans(axes, inputs);
  const SearchResult result = search(candidates, inputs, {});
  const std::vector<FoundPlan> expected = one_by_one(candidates.legal, inputs);
  CHECK(result.legal == std::ssize(candidates.legal));
  REQUIRE(result.plans.size() == expected.size());
  CHECK(expected.size() > 20);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(result.plans[i].sec_per_iter == expected[i].sec_per_iter);
    CHECK(result.plans[i].peak_memory.value == expected[i].peak_memory.value);
  }
}

TEST_CASE("a search ranks as the prediction of each plan alone does: to the last bit") {
  const SearchInputs bloom = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  check_against_predictions(bloom, axes_for(bloom, 48));
  const SearchInputs gpt = shipped_inputs("gpt-18b", "selene", 256);
  check_against_predictions(gpt, axes_for(gpt, 4, true));
  const SearchInputs mosaic = shipped_inputs("mosaicgpt-7b", "mosaic-r1z1-a100-80gb", 512);
  check_against_predictions(mosaic, axes_for(mosaic, 1));
  SearchAxes shaped = axes_for(mosaic, 1);
  shaped.shapes = {shape_of(mosaic.model), {40, 3584, 28}, {32, 4096, 64}, {24, 4096, 64}};
  check_against_predictions(mosaic, shaped);
}

TEST_CASE("a search finds the same to the last bit on one thread and on several") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  const Candidates candidates = legal_plans(axes_for(inputs, 48), inputs);
  const SearchResult expected = search(candidates, inputs, {});
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    with_threads(threads, [&] {
      const SearchResult result = search(candidates, inputs, {});
      REQUIRE(result.plans.size() == expected.plans.size());
      for (std::size_t i = 0; i < result.plans.size(); ++i) {
        CHECK(result.plans[i].sec_per_iter == expected.plans[i].sec_per_iter);
        CHECK(result.plans[i].plan.tp == expected.plans[i].plan.tp);
        CHECK(result.plans[i].plan.pp == expected.plans[i].plan.pp);
        CHECK(result.plans[i].plan.mbs == expected.plans[i].plan.mbs);
      }
    });
  }
}

TEST_CASE("a head-room only takes away plans that need it") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  const Candidates candidates = legal_plans(axes_for(inputs, 48), inputs);
  const SearchResult all = search(candidates, inputs, {});
  SearchLimits limits;
  limits.memory_headroom = 0.2;
  const SearchResult roomy = search(candidates, inputs, limits);
  CHECK(roomy.fitting < all.fitting);
  CHECK(roomy.fitting > 0);
  for (const FoundPlan& found : roomy.plans) {
    CHECK(found.peak_memory.value <= 0.8 * inputs.device.memory.value);
  }
  const auto fits = [&](const FoundPlan& found) {
    return found.peak_memory.value <= 0.8 * inputs.device.memory.value;
  };
  CHECK(roomy.fitting == std::count_if(all.plans.begin(), all.plans.end(), fits));
}

TEST_CASE("by efficiency, fewer nodes win; by time, more do") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 512);
  SearchAxes axes = axes_for(inputs, 1);
  axes.nodes = {1, 2, 4, 8};
  const Candidates candidates = legal_plans(axes, inputs);
  SearchLimits limits;
  CHECK(search(candidates, inputs, limits).plans.front().plan.nodes == 8);
  limits.objective = Objective::efficiency;
  CHECK(search(candidates, inputs, limits).plans.front().plan.nodes < 8);
}

TEST_CASE("where nothing fits, the smallest plans are told") {
  const SearchInputs inputs = shipped_inputs("gpt-1t", "dgx-a100-40gb", 64);
  const Candidates candidates = legal_plans(axes_for(inputs, 1), inputs);
  const SearchResult result = search(candidates, inputs, {});
  CHECK(result.legal > 0);
  CHECK(result.plans.empty());
  REQUIRE(result.nearest_misses.size() == 3);
  CHECK(result.nearest_misses.front().allocated > inputs.device.memory);
  CHECK(result.nearest_misses[0].allocated <= result.nearest_misses[1].allocated);
}

TEST_CASE("one that is stopped at once says so") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 256);
  const std::atomic<bool> stop{true};
  const SearchResult result =
      search(legal_plans(axes_for(inputs, 4), inputs), inputs, {}, {{}, &stop});
  CHECK(result.interrupted);
  CHECK(result.plans.empty());
}

}  // namespace
}  // namespace prequel
