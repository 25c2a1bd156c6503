#include "sim/search/gains.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/answer/sensitivity.hpp"

namespace prequel {
namespace {

/// Returns the axes that stay as they are while a plan makes use of more memory.
template <class Planned>
auto kept(const Planned& one) {
  const Plan& plan = one.plan;
  return std::tuple(plan.nodes, plan.dp, plan.tp, plan.pp, plan.gbs, one.shape);
}

Gain memory_gain(const FoundPlan& found, const Candidates& candidates, const SearchInputs& inputs,
                 const SearchLimits& limits, double more, const SearchWatch& watch) {
  Candidates alike;
  for (const Candidate& candidate : candidates.legal) {
    if (kept(candidate) == kept(found)) alike.legal.push_back(candidate);
  }
  SearchInputs roomier = inputs;
  roomier.device.memory = more * inputs.device.memory;
  SearchLimits one = limits;
  one.best = 1;
  one.front = false;
  const SearchResult now = search(alike, inputs, one, watch);
  const SearchResult then = search(alike, roomier, one, watch);
  Gain gain{"memory", 0, {}};
  if (now.plans.empty() || then.plans.empty()) return gain;
  const FoundPlan& best = then.plans.front();
  if (best.value < now.plans.front().value) {
    gain.saved = 1 - best.value / now.plans.front().value;
    gain.plan = best.plan;
  }
  return gain;
}

}  // namespace

std::vector<std::vector<Gain>> gains(const std::vector<FoundPlan>& plans,
                                     const Candidates& candidates, const SearchInputs& inputs,
                                     const SearchLimits& limits, double more,
                                     const SearchWatch& watch) {
  std::map<decltype(kept(plans.front())), Gain> of_memory;
  std::vector<std::vector<Gain>> result;
  for (const FoundPlan& found : plans) {
    std::vector<Gain> all;
    for (const Sensitivity& one : sensitivity(scenario_of(inputs, found.plan, found.shape), more)) {
      all.push_back({one.resource, 1 - one.sec_per_iter / found.sec_per_iter, {}});
    }
    const auto [memory, is_new] = of_memory.try_emplace(kept(found));
    if (is_new) memory->second = memory_gain(found, candidates, inputs, limits, more, watch);
    all.push_back(memory->second);
    std::ranges::stable_sort(all, std::ranges::greater{}, &Gain::saved);
    result.push_back(std::move(all));
  }
  return result;
}

}  // namespace prequel
