#pragma once

/// Answers of `prequel search`, made without input or output of their own.

#include <optional>
#include <string>
#include <vector>

#include "cli/json/answer_json.hpp"
#include "cli/search/explanation_format.hpp"
#include "cli/search/plan_ranking.hpp"
#include "cli/search/reserved_plans.hpp"
#include "cli/search/search_options.hpp"
#include "cli/search/shapes.hpp"
#include "cli/text/tell.hpp"
#include "sim/answer/interval.hpp"
#include "sim/answer/odds.hpp"
#include "sim/search/gains.hpp"
#include "sim/search/relaxation.hpp"
#include "sim/search/search.hpp"

namespace prequel {

/// A plan to take, another one if that runs out of memory, and what to measure, the latter by their
/// ranks among the plans of the answer, from 0.
struct Recommendation {
  FoundPlan plan;
  std::optional<std::size_t> fallback;  ///< needs clearly less memory
  std::vector<std::size_t> measure;     ///< those that cannot be told apart; empty if one is ahead
  std::string text;                     ///< three sentences
};

/// The result, and whole predictions of the best plans.
struct SearchAnswer : Ranking {
  SearchInputs inputs;
  SearchOptions options;
  std::vector<Prediction> best;                  ///< of the first plans of the result
  double seconds{};                              ///< that the search took
  std::optional<Recommendation> recommendation;  ///< where a plan was found
  std::vector<Odds> odds;                        ///< of those, among each other
  std::vector<std::vector<Gain>> gains;  ///< of 10 % more of each resource, for each of `best`
  /// Seconds of the first plans by the detailed engine; nothing where it would take too long.
  std::vector<std::optional<double>> detailed;
  std::vector<ReservedPlan> reserved;   ///< the first plans played, where that is asked for
  std::string maturity;                 ///< class of the site then
  std::vector<Relaxation> relaxations;  ///< where nothing fits
  std::vector<ExplainedLayout> explained;
  ShapeChoice shapes;
  std::optional<Context> context;
  std::vector<std::string> overruled;  ///< flags that every row of a table of plans overrules
  /// With a deadline: of the plans that are in time, and the fewest GPUs of those that are it even
  /// if a step takes longer by the error that is stated of the best.
  std::optional<FoundPlan> fewest_gpus, cheapest, surely_in_time;

  /// Returns the relative error of the best plan, as `predict` states it.
  [[nodiscard]] double stated_error() const;
  /// Tests whether a plan is within the stated error of the best.
  [[nodiscard]] bool is_tie(std::size_t rank) const;
  /// The plans to run first, at most `most` of `best`: those that are most probably the best.
  [[nodiscard]] std::vector<std::size_t> to_try(std::size_t most) const;
  /// Tests whether a plan is for a model of another shape than the one that was given.
  [[nodiscard]] bool has_shapes() const;

  /// Returns the price of one GPU-hour on this cluster; 0 where it is not said.
  [[nodiscard]] double price() const;
  /// Returns the seconds of the whole training, where its tokens are said.
  [[nodiscard]] std::optional<double> training_seconds(const FoundPlan& found) const;
  [[nodiscard]] std::optional<double> gpu_hours(const FoundPlan& found) const;
  [[nodiscard]] std::optional<double> cost(const FoundPlan& found) const;
  /// In MWh, of devices at the limit of their boards; hosts, network and cooling come on top.
  [[nodiscard]] std::optional<double> energy(const FoundPlan& found) const;
};

double tokens_per_gpu(const FoundPlan& found);  ///< tokens per second of one GPU

/// Searches what the options ask; `tell` hears what was made of other tools' files, `watch` may
/// stop it. Throws InputError.
SearchAnswer answer_search(const Library& library, const SearchOptions& options, const Tell& tell,
                           const SearchWatch& watch = {});

}  // namespace prequel
