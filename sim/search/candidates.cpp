#include "sim/search/candidates.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "hw/base/parallel.hpp"

namespace prequel {
namespace {

constexpr std::size_t kNearest = 3;

/// Keeps those that broke the fewest rules, each way of breaking them once.
void remember(RefusedPlan refused, std::vector<RefusedPlan>& nearest) {
  const bool known = std::any_of(nearest.begin(), nearest.end(), [&](const RefusedPlan& other) {
    return other.problems == refused.problems;
  });
  if (known) return;
  const auto place = std::upper_bound(nearest.begin(), nearest.end(), refused,
                                      [](const RefusedPlan& a, const RefusedPlan& b) {
                                        return a.problems.size() < b.problems.size();
                                      });
  nearest.insert(place, std::move(refused));
  if (nearest.size() > kNearest) nearest.pop_back();
}

}  // namespace

PlanVariant variant_of(const Plan& plan) {
  return {plan.cp_comm, plan.dispatcher, plan.overlap, plan.cuda_graphs};
}

void set_variant(Plan& plan, const PlanVariant& variant) {
  plan.cp_comm = variant.cp_comm;
  plan.dispatcher = variant.dispatcher;
  plan.overlap = variant.overlap;
  plan.cuda_graphs = variant.cuda_graphs;
}

std::vector<PlanVariant> variants_of(const Candidate& candidate) {
  return candidate.variants ? *candidate.variants
                            : std::vector<PlanVariant>{variant_of(candidate.plan)};
}

std::vector<Candidate> plans_apart(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> apart;
  for (const Candidate& candidate : candidates) {
    for (const PlanVariant& variant : variants_of(candidate)) {
      apart.push_back({candidate.plan, candidate.shape, {}});
      set_variant(apart.back().plan, variant);
    }
  }
  return apart;
}

std::int64_t Candidates::plans() const {
  std::int64_t all = left_out;
  for (const Candidate& candidate : legal) all += static_cast<std::int64_t>(candidate.plans());
  return all;
}

void CandidateCollector::begin(const ModelShape& shape) {
  if (shape == shape_) return;
  shape_ = shape;
  shape_problem_ = reshape_problem(inputs_.model, shape);
  if (shape_problem_.empty()) model_ = reshaped(inputs_.model, shape);
}

void CandidateCollector::consider(const PlanRequest& request,
                                  std::shared_ptr<const std::vector<PlanVariant>> variants) {
  found_.considered += variants ? std::ssize(*variants) : 1;
  if (refusals_ == Refusals::nearest && !found_.legal.empty()) {  // of others nothing is told
    if (!has_shape()) return;
    auto plan = legal_plan(request, model_, inputs_.cluster, inputs_.software);
    if (plan) found_.legal.push_back({std::move(*plan), shape_, std::move(variants)});
    return;
  }
  PlanJudgement judged;
  if (has_shape()) {
    judged = judge_plan(request, model_, inputs_.cluster, inputs_.software);
  } else {
    judged.problems.push_back("model: " + shape_problem_);
  }
  if (judged.problems.empty()) {
    found_.legal.push_back({std::move(judged.plan), shape_, std::move(variants)});
  } else if (refusals_ == Refusals::all) {
    found_.nearest.push_back({request, shape_, std::move(judged.problems)});
  } else {
    remember({request, shape_, std::move(judged.problems)}, found_.nearest);
  }
}

void CandidateCollector::tell(const PlanRequest& shared) {
  if (refusals_ != Refusals::nearest || !found_.legal.empty() || !has_shape()) return;
  PlanJudgement judged = judge_plan(shared, model_, inputs_.cluster, inputs_.software);
  if (!judged.problems.empty()) {
    remember({shared, shape_, std::move(judged.problems)}, found_.nearest);
  }
}

Candidates CandidateCollector::result() && {
  if (!found_.legal.empty() && refusals_ == Refusals::nearest) found_.nearest.clear();
  return std::move(found_);
}

void free_later(std::vector<std::vector<Candidate>> candidates) {
#ifdef __EMSCRIPTEN__  // one thread alone
  candidates.clear();
#else
  std::thread([freed = std::move(candidates)] {}).detach();
#endif
}

void thin_out(std::vector<Candidates>& parts, std::size_t most) {
  std::size_t all = 0;
  std::vector<std::size_t> begins;
  for (const Candidates& part : parts) {
    begins.push_back(all);
    all += part.legal.size();
  }
  const std::size_t stride = (all + most - 1) / most;
  if (stride <= 1) return;
  std::vector<std::vector<Candidate>> rest(parts.size());
  parallel_for(parts.size(), [&](std::size_t i) {
    Candidates& part = parts[i];
    const std::int64_t before = part.plans();
    rest[i].swap(part.legal);
    const std::size_t past = begins[i] % stride;
    for (std::size_t next = past == 0 ? 0 : stride - past; next < rest[i].size(); next += stride) {
      part.legal.push_back(rest[i][next]);
    }
    part.left_out = 0;
    part.left_out = before - part.plans();
  });
  free_later(std::move(rest));
}

Candidates together(std::vector<Candidates> parts) {
  using List = std::shared_ptr<const std::vector<PlanVariant>>;
  std::map<std::vector<PlanVariant>, List> lists;
  Candidates all;
  std::size_t legal = 0;
  for (const Candidates& part : parts) legal += part.legal.size();
  all.legal.reserve(legal);
  for (Candidates& part : parts) {
    all.considered += part.considered;
    all.left_out += part.left_out;
    std::map<const void*, List> known;
    for (Candidate& candidate : part.legal) {
      if (!candidate.variants) continue;
      const auto [one, is_new] = known.try_emplace(candidate.variants.get());
      if (is_new) {
        one->second = lists.try_emplace(*candidate.variants, candidate.variants).first->second;
      }
      candidate.variants = one->second;
    }
    std::ranges::move(part.legal, std::back_inserter(all.legal));
    std::vector<Candidate>().swap(part.legal);
    for (RefusedPlan& refused : part.nearest) remember(std::move(refused), all.nearest);
  }
  if (!all.legal.empty()) all.nearest.clear();
  return all;
}

Candidates legal_plans(const std::vector<CandidateRequest>& requests, const SearchInputs& inputs,
                       Refusals refusals) {
  CandidateCollector collector(inputs, refusals);
  for (const CandidateRequest& request : requests) {
    collector.begin(request.shape);
    collector.consider(request.plan);
  }
  return std::move(collector).result();
}

}  // namespace prequel
