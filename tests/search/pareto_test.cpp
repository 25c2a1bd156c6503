#include "sim/search/pareto.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace prequel {
namespace {

FoundPlan point(double value, double memory, std::int64_t nodes) {
  FoundPlan found;
  found.value = value;
  found.peak_memory = {memory};
  found.plan.nodes = nodes;
  return found;
}

bool no_worse(const FoundPlan& a, const FoundPlan& b) {
  return a.value <= b.value && a.peak_memory.value <= b.peak_memory.value &&
         a.plan.nodes <= b.plan.nodes;
}

/// By the definition: each against all.
std::vector<std::size_t> front_one_by_one(const std::vector<FoundPlan>& plans) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < plans.size(); ++j) {
      const bool equal = no_worse(plans[j], plans[i]) && no_worse(plans[i], plans[j]);
      beaten |= no_worse(plans[j], plans[i]) && (equal ? j < i : true);
    }
    if (!beaten) front.push_back(i);
  }
  return front;
}

TEST_CASE("the front is the plans that no other beats, one by one, with many ties") {
  std::mt19937 random(17);
  for (int round = 0; round < 500; ++round) {
    const int levels = 2 + round % 30;
    std::uniform_int_distribution<int> level(1, levels);
    std::vector<FoundPlan> plans;
    for (int i = 0; i < round % 60; ++i) {
      plans.push_back(point(level(random), level(random), level(random)));
    }
    std::ranges::stable_sort(plans, {}, &FoundPlan::value);
    CHECK(pareto_front(plans) == front_one_by_one(plans));
  }
}

TEST_CASE("less memory or fewer nodes keep a slower plan on the front, neither does not") {
  const std::vector<FoundPlan> plans{point(1, 80, 8), point(2, 80, 8), point(3, 40, 8),
                                     point(4, 60, 4), point(5, 60, 8)};
  CHECK(pareto_front(plans) == std::vector<std::size_t>{0, 2, 3});
}

TEST_CASE("without plans there is no front") {
  CHECK(pareto_front({}).empty());
}

}  // namespace
}  // namespace prequel
