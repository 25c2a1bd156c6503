#pragma once

/// Ranks plans: every candidate is priced and played, layers once for all plans that share them.

#include <memory>
#include <optional>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/search/found_plan.hpp"
#include "sim/search/requirement.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// The quantity that plans are ranked by.
enum class SearchGoal : std::uint8_t {
  time,        ///< seconds per iteration
  efficiency,  ///< device-seconds per token: tokens per second and GPU, GPU-hours, cost
  gpus,        ///< the fewest devices, then seconds
  days         ///< seconds per token, those counted that count
};

struct SearchLimits {
  std::vector<Requirement> requirements;
  double memory_headroom{};  ///< share of the device that must stay free
  SearchGoal objective{};
  /// How many of the best plans are wanted; 0: all that fit. Where it is a few, those that cannot
  /// be among them are passed over.
  std::size_t best{};
  bool front{};                  ///< with those, the Pareto front of all
  std::vector<SearchGoal> also;  ///< the best plan by each of these is wanted, too
  /// Share of time that counts on so many nodes, by their number; empty: all of it.
  std::vector<double> counted;
  double least_rate{};  ///< tokens per second that a plan must reach to be in time; 0: any
};

/// One plan that does not fit.
struct TooLarge {
  Plan plan;
  ModelShape shape;
  Bytes needed;  ///< or printed, where a head-room was wanted
};

struct SearchResult {
  std::int64_t considered{};     ///< combinations looked at
  std::int64_t legal{};          ///< that the rules allow
  std::int64_t required{};       ///< of those, that meet all requirements
  std::int64_t fitting{};        ///< of those, that fit
  std::vector<FoundPlan> plans;  ///< that fit and are in time, best first (of them, those wanted);
                                 ///< equals in the order of the axes
  std::vector<TooLarge> nearest_misses;  ///< the smallest, where none fits
  std::vector<RefusedPlan> refused;      ///< as the candidates say
  /// How many of `plans` are the best ones in order; those behind are of the front alone, and
  /// others, which are not told, may be better.
  std::size_t ranked{};
  std::vector<FoundPlan>
      also;  ///< the best by each further objective; none where nothing is in time
  bool interrupted{};
};

class KnownPlans;

/// Searches of the same plans, one after another: what no wish changes, their memory, the prices of
/// their layers and bounds on their seconds, is found once. Keeps references to both inputs.
class Searcher {
 public:
  Searcher(const Candidates& candidates, const SearchInputs& inputs);
  ~Searcher();

  /// The same answer whatever the number of threads.
  [[nodiscard]] SearchResult search(const SearchLimits& limits, const SearchWatch& watch = {});

 private:
  const Candidates& candidates_;
  std::unique_ptr<KnownPlans> known_;
};

/// One search.
SearchResult search(const Candidates& candidates, const SearchInputs& inputs,
                    const SearchLimits& limits, const SearchWatch& watch = {});

/// How many of the plans that such a search finds are ranked before `value`; nothing where it was
/// stopped. None is kept, so that there may be as many as there are.
std::optional<std::size_t> plans_before(double value, const Candidates& candidates,
                                        const SearchInputs& inputs, const SearchLimits& limits,
                                        const SearchWatch& watch = {});

/// A plan that was asked for by itself: predicted, or refused.
struct EvaluatedPlan {
  std::optional<FoundPlan> found;     ///< also where it does not fit; its value is its seconds
  double mfu{};                       ///< model FLOP over the peak of the plan's format
  std::vector<std::string> problems;  ///< of a plan that the rules refuse
};

/// Predicts each plan, whatever its rank, in the order of the requests. Plans that share layers
/// share their prices, so that thousands of plans cost little more than their schedules.
/// Throws Interrupted once `stop` is set.
std::vector<EvaluatedPlan> evaluate(const std::vector<PlanRequest>& requests,
                                    const SearchInputs& inputs,
                                    const std::atomic<bool>* stop = nullptr);

/// All that a prediction of this plan, for a model of this shape, starts from.
Scenario scenario_of(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape);

/// The whole prediction of one plan.
Prediction predict_plan(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape);

}  // namespace prequel
