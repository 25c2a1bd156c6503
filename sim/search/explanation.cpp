#include "sim/search/explanation.hpp"

#include <algorithm>

#include "models/axes/plan_request.hpp"

namespace prequel {
namespace {

/// The axes with what the layout says in place of all other values.
SearchAxes narrowed(SearchAxes axes, const PlanRequest& layout) {
  each_axis([&](const auto& axis) {
    if (is_listed(axis.use) && axis.of(layout)) axis.of(axes) = {*axis.of(layout)};
  });
  if (layout.vpp.value_or(1) > 1 && !layout.schedule) axes.schedule = {Schedule::interleaved};
  return axes;
}

bool has(const Plan& plan, const PlanRequest& layout) {
  bool all = true;
  each_axis([&](const auto& axis) {
    const auto& asked = axis.of(layout);
    all = all && (!asked || *asked == axis.of(plan));
  });
  return all;
}

/// Tests whether one of its plans has what the layout says.
bool offers(const Candidate& candidate, const PlanRequest& layout) {
  if (!candidate.variants) return has(candidate.plan, layout);
  return std::ranges::any_of(*candidate.variants, [&](const PlanVariant& variant) {
    Plan plan = candidate.plan;
    set_variant(plan, variant);
    return has(plan, layout);
  });
}

/// One request for each way to fill what the layout leaves open of tp, pp and mbs, on the most
/// nodes; the rules say of each what is wrong with it.
std::vector<CandidateRequest> one_by_one(const PlanRequest& layout, const SearchAxes& axes,
                                         const PlanRequest& fixed) {
  std::vector<CandidateRequest> requests;
  PlanRequest request = filled_from(layout, fixed);
  request.nodes = axes.nodes.back();
  request.gbs = axes.gbs.front();
  for (const std::int64_t tp : axes.tp) {
    request.tp = tp;
    for (const std::int64_t pp : axes.pp) {
      request.pp = pp;
      for (const std::int64_t mbs : axes.mbs) {
        request.mbs = mbs;
        requests.push_back({request, axes.shapes.front()});
      }
    }
  }
  return requests;
}

/// The plans of the layout, or what is wrong with it. The combinations pass over what cannot be
/// legal without a word, so the rules are asked only where nothing is left.
Candidates plans_of(const PlanRequest& layout, const SearchAxes& axes, const SearchInputs& inputs) {
  Candidates candidates = legal_plans(axes, inputs);
  std::erase_if(candidates.legal,
                [&](const Candidate& candidate) { return !has(candidate.plan, layout); });
  if (!candidates.legal.empty()) return candidates;
  return legal_plans(one_by_one(layout, axes, inputs.fixed), inputs);
}

/// The requirements that no plan meets; all of them where each is met by some.
std::vector<std::string> unmet_by(const Candidates& candidates, const SearchInputs& inputs,
                                  const SearchLimits& limits) {
  std::vector<std::string> all, unmet;
  for (const Requirement& requirement : limits.requirements) {
    all.push_back(requirement.text());
    SearchLimits one;
    one.requirements = {requirement};
    if (search(candidates, inputs, one).required == 0) unmet.push_back(requirement.text());
  }
  return unmet.empty() ? all : unmet;
}

}  // namespace

std::string_view name(LayoutVerdict verdict) {
  switch (verdict) {
    case LayoutVerdict::illegal: return "illegal";
    case LayoutVerdict::excluded: return "excluded";
    case LayoutVerdict::oom: return "oom";
    case LayoutVerdict::ranked: return "ranked";
  }
  return "";
}

Explanation explain(const PlanRequest& layout, const SearchAxes& axes, const SearchInputs& inputs,
                    const SearchLimits& limits, const Candidates& searched,
                    const SearchResult& found) {
  SearchInputs asked = inputs;
  asked.fixed = filled_from(layout, inputs.fixed);
  const Candidates candidates = plans_of(layout, narrowed(axes, layout), asked);
  Explanation explanation;
  if (candidates.legal.empty()) {
    explanation.verdict = LayoutVerdict::illegal;
    explanation.refused = candidates.nearest;
    return explanation;
  }
  SearchLimits one = limits;
  one.best = 1;
  one.front = false;
  const SearchResult result = search(candidates, asked, one);
  if (result.required == 0) {
    explanation.verdict = LayoutVerdict::excluded;
    explanation.unmet = unmet_by(candidates, asked, limits);
    return explanation;
  }
  if (result.plans.empty()) {
    explanation.verdict = LayoutVerdict::oom;
    explanation.plan = result.nearest_misses.front().plan;
    explanation.shape = result.nearest_misses.front().shape;
    explanation.needed = result.nearest_misses.front().needed;
    explanation.room = (1.0 - limits.memory_headroom) * inputs.device.memory;
  } else {
    const FoundPlan& best = result.plans.front();
    explanation.verdict = LayoutVerdict::ranked;
    explanation.plan = best.plan;
    explanation.shape = best.shape;
    explanation.value = best.value;
    const auto place = std::ranges::lower_bound(found.plans, best.value, {}, &FoundPlan::value);
    const auto better = static_cast<std::size_t>(place - found.plans.begin());
    const bool all_told = std::ssize(found.plans) == found.fitting;
    explanation.rank = all_told || better < found.ranked ? better + 1 : 0;
    // For a large space the search tells its best plans alone, of which this need not be one.
    explanation.searched = std::ranges::any_of(
        searched.legal, [&](const Candidate& candidate) { return offers(candidate, layout); });
  }
  explanation.predicted = predict_plan(asked, *explanation.plan, explanation.shape);
  return explanation;
}

}  // namespace prequel
