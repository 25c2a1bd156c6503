#include "sim/search/gains.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

struct Searched {
  SearchInputs inputs = shipped_inputs("bloom-176b", "jean-zay-a100", 2048);
  Candidates candidates = legal_plans(axes_for(inputs, 48), inputs);
  SearchLimits limits;
  SearchResult found = search(candidates, inputs, limits);
};

const Gain& of_memory(const std::vector<Gain>& all) {
  return *std::ranges::find(all, "memory", &Gain::resource);
}

TEST_CASE("every plan tells the gain of every resource, the largest first") {
  const Searched searched;
  const auto all = gains(searched.found.plans, searched.candidates, searched.inputs, {});
  REQUIRE(all.size() == searched.found.plans.size());
  for (const std::vector<Gain>& one : all) {
    CHECK(one.size() == 6);
    CHECK(std::ranges::is_sorted(one, std::ranges::greater{}, &Gain::saved));
    for (const Gain& gain : one) {
      CHECK(gain.saved >= 0);
      if (gain.resource != "memory") CHECK(gain.saved < 1 - 1 / 1.1);
    }
  }
}

TEST_CASE("more memory saves what the best plan saves that then fits, of the same degrees") {
  const Searched searched;
  SearchInputs roomier = searched.inputs;
  roomier.device.memory = 1.4 * roomier.device.memory;
  const SearchResult then = search(searched.candidates, roomier, {});
  const auto all = gains(searched.found.plans, searched.candidates, searched.inputs, {}, 1.4);
  const auto best = [](const SearchResult& result, const Plan& plan) {
    return *std::ranges::find_if(result.plans, [&](const FoundPlan& other) {
      return other.plan.tp == plan.tp && other.plan.pp == plan.pp;
    });
  };
  int helped = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Plan& plan = searched.found.plans[i].plan;
    const double before = best(searched.found, plan).value;
    const FoundPlan after = best(then, plan);
    const Gain& memory = of_memory(all[i]);
    CHECK(memory.saved == 1 - after.value / before);
    CHECK(memory.plan.has_value() == (after.value < before));
    if (memory.plan) CHECK(memory.plan->recompute == after.plan.recompute);
    if (memory.plan) ++helped;
  }
  CHECK(helped > 0);
}

TEST_CASE("nothing more brings nothing") {
  const Searched searched;
  const std::vector<FoundPlan> best{searched.found.plans.front()};
  const auto all = gains(best, searched.candidates, searched.inputs, searched.limits, 1.0);
  for (const Gain& gain : all.front()) CHECK(gain.saved == 0);
}

}  // namespace
}  // namespace prequel
