#include "sim/search/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "sim/search/pareto.hpp"
#include "tests/limited_threads.hpp"
#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

/// Tests whether they are one plan of a space.
bool same(const FoundPlan& a, const FoundPlan& b) {
  bool all = a.shape == b.shape;
  each_axis([&](const auto& axis) { all = all && axis.of(a.plan) == axis.of(b.plan); });
  return all;
}

/// Every plan by the ordinary prediction, the best first.
std::vector<FoundPlan> one_by_one(const std::vector<Candidate>& plans, const SearchInputs& inputs) {
  std::vector<FoundPlan> found;
  for (const auto& [plan, shape, none] : plans_apart(plans)) {
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
  CHECK(result.legal == candidates.plans());
  REQUIRE(result.plans.size() == expected.size());
  CHECK(expected.size() > 20);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(result.plans[i].sec_per_iter == expected[i].sec_per_iter);
    CHECK(result.plans[i].peak_memory.value == expected[i].peak_memory.value);
    CHECK(same(result.plans[i], expected[i]));
  }
  SearchLimits few;
  few.best = 10;
  const SearchResult best = search(candidates, inputs, few);
  REQUIRE(best.plans.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(same(best.plans[i], expected[i]));
  for (const std::size_t i : {std::size_t{0}, std::size_t{7}, expected.size() - 1}) {
    const auto first = std::ranges::lower_bound(expected, expected[i].value, {}, &FoundPlan::value);
    CHECK(plans_before(expected[i].value, candidates, inputs, {}) ==
          static_cast<std::size_t>(first - expected.begin()));
  }
}

TEST_CASE("a search ranks as the prediction of each plan alone does: to the last bit") {
  const SearchInputs bloom = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  check_against_predictions(bloom, axes_for(bloom, 48));
  const SearchInputs gpt = shipped_inputs("gpt-18b", "selene", 256);
  check_against_predictions(gpt, axes_for(gpt, 4, true));
  const SearchInputs mosaic = shipped_inputs("mosaicgpt-7b", "mosaic-r1z1-a100-80gb", 512);
  check_against_predictions(mosaic, axes_for(mosaic, 1, true));
  SearchAxes shaped = axes_for(mosaic, 1, true);
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
        CHECK(same(result.plans[i], expected.plans[i]));
      }
      SearchLimits few;
      few.best = 5;
      const SearchResult best = search(candidates, inputs, few);
      REQUIRE(best.plans.size() == 5);
      for (std::size_t i = 0; i < 5; ++i) CHECK(same(best.plans[i], expected.plans[i]));
    });
  }
}

TEST_CASE("searches that share what they know of the plans find what each of them finds alone") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  const Candidates candidates = legal_plans(axes_for(inputs, 48), inputs);
  std::vector<SearchLimits> wishes(6);
  wishes[1].best = 5;
  wishes[2].objective = SearchGoal::gpus;
  wishes[2].best = 3;
  wishes[3].memory_headroom = 0.3;
  wishes[3].best = 5;
  wishes[4].requirements = {Requirement::parse("tp == 4 && mem_gib < 60")};
  wishes[5].requirements = {Requirement::parse("overlap == 'none' && pp > 4")};
  Searcher searcher(candidates, inputs);
  for (const std::size_t wish : {1U, 4U, 2U, 3U, 5U, 0U, 1U, 3U}) {
    CAPTURE(wish);
    const SearchResult alone = search(candidates, inputs, wishes[wish]);
    const SearchResult shared = searcher.search(wishes[wish]);
    CHECK(shared.required == alone.required);
    CHECK(shared.fitting == alone.fitting);
    CHECK(shared.nearest_misses.size() == alone.nearest_misses.size());
    REQUIRE(shared.plans.size() == alone.plans.size());
    for (std::size_t i = 0; i < alone.plans.size(); ++i) {
      CHECK(same(shared.plans[i], alone.plans[i]));
      CHECK(shared.plans[i].value == alone.plans[i].value);
    }
  }
}

SearchInputs lite_inputs() {
  SearchInputs inputs = shipped_inputs("deepseek-v2-lite", "nvidia-dgx-h100", 64);
  inputs.fixed.seq_len = 4096;
  return inputs;
}

SearchAxes lite_axes() {
  SearchAxes axes;
  axes.nodes = {2};
  axes.gbs = {64};
  axes.tp = {1, 2};
  axes.pp = {1, 2, 4};
  return axes;
}

TEST_CASE("with experts, contexts, dispatchers, overlap, graphs and layouts, too") {
  SearchInputs lite = lite_inputs();
  SearchAxes axes = lite_axes();
  axes.cp = {1, 2};
  axes.ep = {1, 8, 16};
  axes.etp = {1, 2};
  axes.mbs = {1, 2};
  axes.vpp = {1, 2};
  axes.zero = {1};
  axes.dispatcher = {Dispatcher::alltoall, Dispatcher::deepep, Dispatcher::hybridep};
  axes.cp_comm = {ContextComm::p2p, ContextComm::all_gather};
  axes.overlap = {
      {}, {Overlapped::tp}, {Overlapped::shared_experts}, {Overlapped::tp, Overlapped::ep}};
  axes.cuda_graphs = {{}, {GraphedModule::attn}, {GraphedModule::full}};
  axes.recompute = {Recompute::none, Recompute::selective};
  axes.recompute_modules = {{}, {RecomputeModule::moe_act, RecomputeModule::layernorm}};
  axes.precision = {Precision::bf16, Precision::fp8};
  axes.fp8_recipe = {Fp8Recipe::none, Fp8Recipe::block};
  check_against_predictions(lite, fill_axes(axes, lite, Reach::usual));
  SearchInputs oss = shipped_inputs("gpt-oss-20b", "gb200-nvl72", 32);
  oss.fixed.seq_len = 4096;
  SearchAxes few;
  few.nodes = {4};
  few.gbs = {32};
  few.mbs = {1, 4};
  few.overlap = {{}, {Overlapped::ep}};
  check_against_predictions(oss, fill_axes(few, oss, Reach::usual));
}

TEST_CASE("a hybrid's stages of unequal sublayers are dealt better than evenly") {
  SearchInputs inputs = shipped_inputs("nemotron-3-nano-30b-a3b", "nvidia-dgx-h100", 64);
  inputs.fixed.seq_len = 8192;
  SearchAxes axes;
  axes.nodes = {2};
  axes.gbs = {64};
  axes.tp = {1};
  axes.pp = {4};
  axes.vpp = {1};
  axes.ep = {4};
  axes.mbs = {1};
  axes.recompute = {Recompute::full};
  const auto best = [&](std::string layout) {
    axes.layout = {std::move(layout)};
    const auto plans = legal_plans(fill_axes(axes, inputs, Reach::usual), inputs);
    const SearchResult found = search(plans, inputs, {});
    REQUIRE(!found.plans.empty());
    return found.plans.front().sec_per_iter;
  };
  // 13 sublayers a stage leave the last one the head beside them.
  CHECK(best(std::string(kAutoLayout)) < 0.95 * best(""));
}

TEST_CASE("with and without each kind of overlap, of stacks and of plans, on several schedules") {
  SearchInputs lite = lite_inputs();
  SearchAxes axes = lite_axes();
  axes.ep = {4, 16};
  axes.mbs = {1};
  axes.vpp = {1, 2};
  axes.zero = {0, 1};
  axes.schedule = {Schedule::one_f_one_b, Schedule::interleaved, Schedule::dualpipe_v,
                   Schedule::zb_h1};
  axes.dispatcher = {Dispatcher::alltoall, Dispatcher::deepep};
  using enum Overlapped;
  for (const GradientOverlap gradients : all_of<GradientOverlap>()) {
    for (const bool blocking : {false, true}) {
      lite.software.communication.gradient_overlap = gradients;
      lite.software.communication.p2p_wait = blocking ? std::optional(Seconds{}) : std::nullopt;
      for (const WordSet<Overlapped> overlap :
           {WordSet<Overlapped>{}, WordSet<Overlapped>{Overlapped::ep},
            WordSet<Overlapped>{Overlapped::tp}, WordSet<Overlapped>{tp, ep, grads, params, p2p},
            WordSet<Overlapped>{grads, no_params}, kNoneOf<Overlapped>}) {
        axes.overlap = {overlap};
        check_against_predictions(lite, fill_axes(axes, lite, Reach::usual));
      }
    }
  }
}

TEST_CASE("the Pareto front of many plans is found without playing all of them") {
  SearchInputs lite = shipped_inputs("deepseek-v2-lite", "nvidia-dgx-h100", 64);
  lite.fixed.seq_len = 4096;
  const Candidates candidates = legal_plans(axes_for(lite, 2), lite);
  const SearchResult all = search(candidates, lite, {});
  SearchLimits limits;
  limits.best = 5;
  limits.front = true;
  const SearchResult some = search(candidates, lite, limits);
  CHECK(some.ranked == 5);
  CHECK(some.plans.size() < all.plans.size() / 2);
  const auto front = [](const SearchResult& result) {
    std::vector<FoundPlan> plans;
    for (const std::size_t i : pareto_front(result.plans)) plans.push_back(result.plans[i]);
    return plans;
  };
  const std::vector<FoundPlan> expected = front(all);
  const std::vector<FoundPlan> found = front(some);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(same(found[i], expected[i]));
}

TEST_CASE("a requirement tells variants of a plan apart") {
  SearchInputs lite = shipped_inputs("deepseek-v2-lite", "nvidia-dgx-h100", 64);
  lite.fixed.seq_len = 4096;
  SearchAxes axes = axes_for(lite, 2);
  axes.dispatcher = {Dispatcher::alltoall, Dispatcher::deepep};
  SearchLimits limits;
  limits.requirements = {Requirement::parse("dispatcher == 'deepep' && ep == 8")};
  limits.best = 3;
  const SearchResult result = search(legal_plans(axes, lite), lite, limits);
  REQUIRE(result.plans.size() == 3);
  for (const FoundPlan& found : result.plans) {
    CHECK(found.plan.dispatcher == Dispatcher::deepep);
  }
}

/// How many plans are played to find the best ten, of how many that fit.
std::pair<std::size_t, std::size_t> check_pruned(const SearchInputs& inputs, const SearchAxes& axes,
                                                 SearchGoal objective = SearchGoal::time) {
  const Candidates candidates = legal_plans(axes, inputs);
  SearchLimits limits;
  limits.objective = objective;
  const SearchResult all = search(candidates, inputs, limits);
  limits.best = 10;
  std::pair<std::size_t, std::size_t> played;
  const SearchResult best = search(candidates, inputs, limits,
                                   {[&](std::size_t done, std::size_t of) {
                                      played = {done, of};
                                    },
                                    {}});
  CHECK(best.legal == all.legal);
  CHECK(best.required == all.required);
  CHECK(best.fitting == all.fitting);
  CHECK_FALSE(best.interrupted);
  REQUIRE(best.plans.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(best.plans[i].value == all.plans[i].value);
    CHECK(same(best.plans[i], all.plans[i]));
  }
  return played;
}

TEST_CASE("plans that cannot be among the best are passed over, and the best stay as they are") {
  const SearchInputs bloom = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  const auto [played, fitting] = check_pruned(bloom, axes_for(bloom, 48, true));
  CHECK(played < fitting / 2);
  check_pruned(bloom, axes_for(bloom, 48, true), SearchGoal::efficiency);
  SearchAxes any = axes_for(bloom, 48, true);
  any.nodes = {12, 24, 36, 44, 48, 52};
  check_pruned(bloom, any);
  check_pruned(bloom, any, SearchGoal::efficiency);
  const SearchInputs gpt = shipped_inputs("gpt-18b", "selene", 256);
  check_pruned(gpt, axes_for(gpt, 4, true));
  const SearchInputs llama = shipped_inputs("llama-3-70b", "dgx-h100", 512, "megatron-core-2024");
  check_pruned(llama, axes_for(llama, 32, true));
  const SearchInputs mosaic = shipped_inputs("mosaicgpt-7b", "mosaic-r1z1-a100-80gb", 512);
  SearchAxes shaped = axes_for(mosaic, 1, true);
  shaped.shapes = {shape_of(mosaic.model), {40, 3584, 28}, {32, 4096, 64}, {24, 4096, 64}};
  check_pruned(mosaic, shaped);
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

TEST_CASE("by efficiency, fewer nodes win, by time, more do") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 512);
  SearchAxes axes = axes_for(inputs, 1);
  axes.nodes = {1, 2, 4, 8};
  const Candidates candidates = legal_plans(axes, inputs);
  SearchLimits limits;
  CHECK(search(candidates, inputs, limits).plans.front().plan.nodes == 8);
  limits.objective = SearchGoal::efficiency;
  CHECK(search(candidates, inputs, limits).plans.front().plan.nodes < 8);
}

TEST_CASE("where nothing fits, the smallest plans are told") {
  const SearchInputs inputs = shipped_inputs("gpt-1t", "dgx-a100-40gb", 64);
  const Candidates candidates = legal_plans(axes_for(inputs, 1), inputs);
  const SearchResult result = search(candidates, inputs, {});
  CHECK(result.legal > 0);
  CHECK(result.plans.empty());
  REQUIRE(result.nearest_misses.size() == 3);
  CHECK(result.nearest_misses.front().needed > inputs.device.memory);
  CHECK(result.nearest_misses[0].needed <= result.nearest_misses[1].needed);
}

TEST_CASE("one that is stopped on the way has the best so far, and says so") {
  const SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  SearchAxes axes = axes_for(inputs, 48, true);
  axes.nodes = {16, 24, 32, 40, 44, 48};
  std::atomic<bool> stop{false};
  std::size_t played = 0;
  const SearchResult result = search(legal_plans(axes, inputs), inputs, {},
                                     {[&](std::size_t done, std::size_t /*of*/) {
                                        played = done;
                                        stop = true;
                                      },
                                      &stop});
  CHECK(result.interrupted);
  CHECK(result.plans.size() == played);
  CHECK(std::ssize(result.plans) < result.fitting);
  CHECK(std::ranges::is_sorted(result.plans, {}, &FoundPlan::value));
}

TEST_CASE("one that is stopped at once says so, with the best of a few") {
  const SearchInputs inputs = shipped_inputs("gpt-18b", "selene", 256);
  const std::atomic<bool> stop{true};
  const SearchResult result =
      search(legal_plans(axes_for(inputs, 4), inputs), inputs, {}, {{}, &stop});
  CHECK(result.interrupted);
  CHECK_FALSE(result.plans.empty());
}

}  // namespace
}  // namespace prequel
