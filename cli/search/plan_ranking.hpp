#pragma once

/// How the plans that a search found are put before the user: those that surely fit, one of each
/// family, with another kind of plan among them.

#include <optional>
#include <string>
#include <vector>

#include "cli/search/search_options.hpp"
#include "models/job/library.hpp"
#include "sim/answer/interval.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/search/search.hpp"

namespace prequel {

/// Plans that fit with a smaller probability are not ranked, unless --risk says another one.
inline constexpr double kSurelyFits = 0.95;
/// So many plans get intervals and odds, printed or not.
inline constexpr std::size_t kJudged = 30;

/// The best of the plans that are faster than the first ranked one and fit less surely.
struct RiskyPlan {
  FoundPlan found;
  double fits_probability{};
  double gain{};  ///< share by which its value is less
};

/// `result.plans` begin with those that are ranked, of each family the best alone, unless all are
/// asked for; plans of the Pareto front of all that fit stand behind.
struct Ranking {
  SearchResult result;
  std::vector<Interval> intervals;    ///< of the ranked plans
  std::vector<std::size_t> families;  ///< of the ranked plans, from 1, in order of appearance
  std::vector<std::size_t> folded;    ///< how many plans found stand behind each ranked one
  std::optional<RiskyPlan> risky;
  std::vector<FoundPlan> cloud;    ///< every plan that fits, the best first, where it is drawn
  std::vector<std::string> notes;  ///< warnings: what was assumed, widened or asked in vain
};

/// Tests whether two plans differ in their layout string, chunks and recomputed modules at most.
bool are_of_one_family(const FoundPlan& first, const FoundPlan& second);

class Ranker {
 public:
  /// Keeps references to `inputs`, `options` and `watch`.
  Ranker(const Library& library, const SearchOptions& options, const SearchInputs& inputs,
         const SearchWatch& watch);

  /// Searches and ranks `wanted` families of plans.
  [[nodiscard]] Ranking rank(Searcher& searcher, SearchLimits limits, std::size_t wanted) const;
  [[nodiscard]] const SearchWatch& watch() const { return watch_; }

 private:
  struct Judged;

  /// Plans of a table are the user's own: all that fit are ranked, unless a risk is said.
  [[nodiscard]] double threshold() const {
    return options_.risk.value_or(options_.plans ? 0.0 : kSurelyFits);
  }
  [[nodiscard]] bool folds() const { return !options_.unfold && !options_.plans; }
  [[nodiscard]] Interval interval_of(const FoundPlan& found) const;
  [[nodiscard]] double fits_probability_of(const FoundPlan& found) const;
  [[nodiscard]] Judged judge(const std::vector<FoundPlan>& plans, std::size_t ranked,
                             std::size_t wanted) const;
  [[nodiscard]] Ranking as_found(SearchResult result, std::size_t wanted) const;
  void add_other_kind(Searcher& searcher, SearchLimits limits, std::size_t shown,
                      Judged& judged) const;

  const SearchOptions& options_;
  const SearchInputs& inputs_;
  const SearchWatch& watch_;
  Uncertainty uncertainty_;
};

}  // namespace prequel
