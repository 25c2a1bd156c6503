#include "cli/search/plan_ranking.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "hw/base/parallel.hpp"
#include "sim/search/pareto.hpp"

namespace prequel {
namespace {

constexpr std::size_t kBlock = 16;        // plans that are judged at once
constexpr std::size_t kMostFound = 1024;  // plans that a search is asked for, to find enough
constexpr double kOneFamily = 0.01;       // by which seconds of one family differ at most
constexpr double kWithinReach = 0.25;     // by which another kind may be slower than the best
/// Ratio of two plans' memory from which the larger fits less surely, whatever their doubts.
constexpr double kSurelyMore = 1.1;

/// Returns the traits that make a plan another kind: how the model is split over devices.
auto kind_of(const FoundPlan& found) {
  return std::tuple(found.plan.zero == 3, found.plan.tp, found.plan.pp);
}

/// Tests whether two plans have the same values on all axes but those that are `free`.
bool are_same(const FoundPlan& first, const FoundPlan& second,
              std::initializer_list<std::string_view> free = {}) {
  bool same = first.shape == second.shape;
  each_axis([&](const auto& axis) {
    same = same && (std::ranges::find(free, axis.name) != free.end() ||
                    axis.of(first.plan) == axis.of(second.plan));
  });
  return same;
}

}  // namespace

bool are_of_one_family(const FoundPlan& first, const FoundPlan& second) {
  return are_same(first, second, {"layout", "vpp", "recompute_modules"});
}

/// Plans that fit as surely as is asked for, one of each family.
struct Ranker::Judged {
  std::vector<FoundPlan> plans;
  std::vector<Interval> intervals;
  std::vector<std::size_t> families, folded;
  std::optional<RiskyPlan> risky;  ///< with the gain still to be said
  Bytes least_refused{std::numeric_limits<double>::infinity()};

  /// The ranked plan whose family a plan belongs to; -1 if none is.
  [[nodiscard]] std::ptrdiff_t head_of(const FoundPlan& found) const {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (found.value <= plans[i].value * (1 + kOneFamily) && are_of_one_family(plans[i], found)) {
        return static_cast<std::ptrdiff_t>(i);
      }
    }
    return -1;
  }
};

Ranker::Ranker(const Library& library, const SearchOptions& options, const SearchInputs& inputs,
               const SearchWatch& watch)
    : options_(options),
      inputs_(inputs),
      watch_(watch),
      uncertainty_(shipped_uncertainty(library)) {}

Interval Ranker::interval_of(const FoundPlan& found) const {
  const Scenario scenario = scenario_of(inputs_, found.plan, found.shape);
  return interval(scenario, predict(scenario), uncertainty_);
}

double Ranker::fits_probability_of(const FoundPlan& found) const {
  const Scenario scenario = scenario_of(inputs_, found.plan, found.shape);
  return fits_probability(scenario, predict(scenario), uncertainty_);
}

/// Goes through the plans, the best first, until `wanted` are ranked.
Ranker::Judged Ranker::judge(const std::vector<FoundPlan>& plans, std::size_t ranked,
                             std::size_t wanted) const {
  Judged judged;
  std::size_t families = 0;
  for (std::size_t begin = 0; begin < ranked && judged.plans.size() < wanted;) {
    std::vector<std::size_t> block;
    for (; begin < ranked && block.size() < std::min(kBlock, 2 * wanted); ++begin) {
      const FoundPlan& found = plans[begin];
      if (found.peak_memory > kSurelyMore * judged.least_refused) continue;
      const std::ptrdiff_t head = folds() ? judged.head_of(found) : -1;
      if (head >= 0) {
        ++judged.folded[static_cast<std::size_t>(head)];
      } else {
        block.push_back(begin);
      }
    }
    std::vector<double> probabilities(block.size());
    if (threshold() > 0) {
      parallel_for(block.size(),
                   [&](std::size_t i) { probabilities[i] = fits_probability_of(plans[block[i]]); });
    }
    const bool states_intervals = threshold() > 0 || judged.plans.size() < kJudged;
    for (std::size_t i = 0; i < block.size() && judged.plans.size() < wanted; ++i) {
      const FoundPlan& found = plans[block[i]];
      const double probability = probabilities[i];
      if (probability < threshold()) {
        judged.least_refused = std::min(judged.least_refused, found.peak_memory);
        if (!judged.risky && judged.plans.empty()) judged.risky = RiskyPlan{found, probability, 0};
        continue;
      }
      const std::ptrdiff_t head = judged.head_of(found);
      if (head >= 0 && folds()) {
        ++judged.folded[static_cast<std::size_t>(head)];
        continue;
      }
      judged.families.push_back(head >= 0 ? judged.families[static_cast<std::size_t>(head)]
                                          : ++families);
      judged.plans.push_back(found);
      judged.folded.push_back(0);
    }
    if (!states_intervals) continue;
    const std::size_t stated = judged.intervals.size();
    judged.intervals.resize(judged.plans.size());
    parallel_for(judged.plans.size() - stated, [&](std::size_t i) {
      judged.intervals[stated + i] = interval_of(judged.plans[stated + i]);
    });
  }
  return judged;
}

/// Puts the best plan of another kind into the last of the rows that are shown, if all of these
/// are of one kind and it is not much slower.
void Ranker::add_other_kind(Searcher& searcher, SearchLimits limits, std::size_t shown,
                            Judged& judged) const {
  const bool all_judged = judged.intervals.size() == judged.plans.size();
  if (judged.plans.empty() || !folds() || !all_judged || shown < 2) return;
  const FoundPlan best = judged.plans.front();
  const auto is_other = [&](const FoundPlan& one) { return kind_of(one) != kind_of(best); };
  const double most = best.value * (1 + kWithinReach);
  std::size_t other = 0;
  while (other < judged.plans.size() && !is_other(judged.plans[other])) ++other;
  if (other < std::min(shown, judged.plans.size())) return;
  if (other == judged.plans.size()) {
    limits.requirements.push_back(
        Requirement::parse(fmt::format("tp != {} || pp != {}", best.plan.tp, best.plan.pp)));
    limits.best = kBlock;
    limits.front = false;
    const SearchResult others = searcher.search(limits, watch_);
    Judged found = judge(others.plans, others.ranked, 1);
    if (found.plans.empty() || found.plans.front().value > most) return;
    const std::size_t last_family = judged.families.back();
    judged.plans.push_back(std::move(found.plans.front()));
    judged.intervals.push_back(std::move(found.intervals.front()));
    judged.families.push_back(last_family + 1);
    judged.folded.push_back(0);
  } else if (judged.plans[other].value > most) {
    return;
  }
  if (other < shown) return;  // there was room
  // The plans from the last row on are left out, so that rows stay in order.
  const auto cut = [&](auto& list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(shown - 1),
               list.begin() + static_cast<std::ptrdiff_t>(other));
  };
  cut(judged.plans);
  cut(judged.intervals);
  cut(judged.families);
  cut(judged.folded);
}

/// All plans that fit, as they were found.
Ranking Ranker::as_found(SearchResult result, std::size_t wanted) const {
  Ranking ranking;
  ranking.intervals.resize(std::min(result.ranked, kJudged));
  parallel_for(ranking.intervals.size(),
               [&](std::size_t i) { ranking.intervals[i] = interval_of(result.plans[i]); });
  std::size_t families = 0;
  for (std::size_t i = 0; i < std::min(result.ranked, wanted); ++i) {
    std::size_t head = 0;
    while (head < i && !are_of_one_family(result.plans[head], result.plans[i])) ++head;
    ranking.families.push_back(head < i ? ranking.families[head] : ++families);
    ranking.folded.push_back(0);
  }
  ranking.result = std::move(result);
  return ranking;
}

Ranking Ranker::rank(Searcher& searcher, SearchLimits limits, std::size_t wanted) const {
  Ranking ranking;
  const bool all = limits.best == 0;
  SearchResult result = searcher.search(limits, watch_);
  // Who stopped it waits for the odds of a few plans alone: each takes as long as a prediction.
  constexpr std::size_t kInterrupted = 3;
  if (result.interrupted) wanted = std::min({wanted, options_.top, kInterrupted});
  if (options_.draws_cloud || !options_.report.empty()) {
    const auto ranked = static_cast<std::ptrdiff_t>(result.ranked);
    ranking.cloud.assign(result.plans.begin(), result.plans.begin() + ranked);
  }
  if (threshold() == 0 && !folds()) {
    std::vector<FoundPlan> cloud = std::move(ranking.cloud);
    ranking = as_found(std::move(result), wanted);
    ranking.cloud = std::move(cloud);
    return ranking;
  }
  Judged judged = judge(result.plans, result.ranked, wanted);
  SearchLimits surer = limits;
  surer.front = false;
  surer.also.clear();
  while (!all && !result.interrupted && judged.plans.size() < std::min(wanted, options_.top) &&
         surer.best < std::max(kMostFound, wanted)) {
    surer.best = std::max(4 * surer.best, wanted);
    const Bytes capacity = inputs_.device.memory;
    if (judged.least_refused < capacity) {
      const double room = 1 - kSurelyMore * (judged.least_refused / capacity);
      surer.memory_headroom = std::max(limits.memory_headroom, room);
    }
    const SearchResult more = searcher.search(surer, watch_);
    auto risky = std::move(judged.risky);
    judged = judge(more.plans, more.ranked, wanted);
    judged.risky = std::move(risky);
    if (more.interrupted || more.plans.size() < surer.best) break;
  }
  if (judged.plans.empty() && !options_.risk && !result.plans.empty()) {
    // None is sure: the best are told as they are, with their odds.
    ranking.notes.push_back(
        fmt::format("no plan fits with a probability of {:.0f} %; those that may fit are ranked",
                    100 * kSurelyFits));
    judged.risky.reset();
    for (std::size_t i = 0; i < std::min(result.ranked, wanted); ++i) {
      judged.plans.push_back(result.plans[i]);
      judged.families.push_back(i + 1);
      judged.folded.push_back(0);
    }
    judged.intervals.resize(judged.plans.size());
    parallel_for(judged.plans.size(),
                 [&](std::size_t i) { judged.intervals[i] = interval_of(judged.plans[i]); });
  } else if (!result.interrupted && wanted > 1) {
    add_other_kind(searcher, limits, options_.top, judged);
  }
  if (judged.risky && !judged.plans.empty()) {
    judged.risky->gain = 1 - judged.risky->found.value / judged.plans.front().value;
    if (judged.risky->gain > 0) ranking.risky = std::move(judged.risky);
  }
  // The front is of all plans that fit: it stands behind those that are ranked.
  std::vector<FoundPlan> front;
  if (limits.front) {
    for (const std::size_t place : pareto_front(result.plans)) {
      const FoundPlan& one = result.plans[place];
      const auto is_same = [&](const FoundPlan& other) { return are_same(one, other); };
      if (std::ranges::none_of(judged.plans, is_same)) front.push_back(one);
    }
  }
  result.ranked = judged.plans.size();
  result.plans = std::move(judged.plans);
  std::ranges::move(front, std::back_inserter(result.plans));
  ranking.result = std::move(result);
  ranking.intervals = std::move(judged.intervals);
  ranking.families = std::move(judged.families);
  ranking.folded = std::move(judged.folded);
  return ranking;
}

}  // namespace prequel
