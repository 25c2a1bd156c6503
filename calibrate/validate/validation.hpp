#pragma once

/// Predicts measured runs and says how far the predictions are from them.

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/statistics/error_statistics.hpp"
#include "calibrate/validate/measured_runs.hpp"
#include "hw/base/progress.hpp"
#include "sim/answer/interval.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {

enum class Outcome : std::uint8_t { predicted, unsupported, invalid };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Outcome>{"predicted", "unsupported",
                                                                   "invalid"};

/// One row beside its prediction.
struct ValidatedRun {
  MeasuredRun run;
  Outcome outcome{};
  std::string reason;  ///< why it is not predicted
  std::optional<Prediction> prediction;
  std::optional<Interval> interval;      ///< of the prediction
  std::shared_ptr<const Spread> spread;  ///< of its constants
  std::string stack;                     ///< the software file that it is predicted by
  std::string framework;                 ///< of that file
  std::string cell;                      ///< model and card, as `cell_of` names them
  RunKind kind;                          ///< of the row
  PlanTraits traits{};                   ///< of the plan
  /// How far the plan goes on the axes that intervals look at.
  struct Reach {
    double nodes{}, ep{}, cp{}, seq_len{};
  } reach;
  std::string stand_in;    ///< software that stood in for the row's, a release not known; or empty
  bool other_framework{};  ///< whether no release of the row's framework is known either
  std::string machine;     ///< cluster that stood in for the row's, which has no file; or empty
  std::vector<std::string> unheeded;  ///< what the row says and its prediction does not heed
  bool fits{};                        ///< predicted
  std::optional<double> baseline_s;   ///< time by one FLOP efficiency for all rows
  std::optional<double> time_error;   ///< predicted / measured - 1, of `ok` rows
  std::optional<double> baseline_error;
  std::optional<double> memory_error;
  Bytes printed_memory;  ///< predicted of the stage whose peak tools print, as they count it

  /// The interval's ends for that figure.
  [[nodiscard]] Bytes memory_low() const {
    return interval->memory_low / prediction->peak_memory * printed_memory;
  }
  [[nodiscard]] Bytes memory_high() const {
    return interval->memory_high / prediction->peak_memory * printed_memory;
  }
};

/// Things whose stated probability is alike, and how many of them came true.
struct ReliabilityBin {
  double said{};  ///< mean of the probabilities
  double came{};  ///< share of the things
  std::size_t n{};
};

struct FitCounts {
  std::size_t ran{};
  std::size_t oom_measured{};
  std::size_t oom_predicted{};              ///< of those
  std::size_t false_oom{};                  ///< runs that ran and are called oom
  std::size_t odds{};                       ///< rows with a verdict and a probability of fitting
  double brier{};                           ///< mean square of that probability less what came
  std::vector<ReliabilityBin> reliability;  ///< in fifths of the probability, where there are rows
};

struct RankingQuality {
  std::size_t sets{};
  double kendall_tau{};  ///< mean over the sets
  double top1_regret{};  ///< mean over the sets
  double worst_regret{};
  std::size_t worst_place{};  ///< of the measured best in the predicted order, over the sets
};

/// The worth of odds in sets of layouts that were all measured.
struct LayoutOdds {
  std::size_t sets{};
  std::size_t tried{};   ///< of them, those whose best was among the three that `--try 3` names
  std::size_t near{};    ///< or one within the 2 % by which runs of one plan differ from day to day
  double regret{};       ///< of the best of the three; mean over the sets
  double stated_loss{};  ///< expected of the plan that is predicted to be best; mean over the sets
  double loss{};         ///< what that plan lost; mean over the sets
  std::size_t pairs{};
  double brier{};                           ///< of the probability of the faster of a pair
  std::vector<ReliabilityBin> reliability;  ///< of the plan said to be faster, in tenths from 0.5
};

/// Columns that a table need not have, since its rows say them: `kind` (dense, experts), `card`
/// (the device), `scale` (how many of them) and `file`.
inline constexpr std::array<std::string_view, 4> kDerivedColumns{"kind", "card", "scale", "file"};

struct ValidationGroup {
  std::string by;  ///< the columns, with commas
  std::string name;
  std::size_t runs{}, predicted{}, unsupported{}, invalid{};
  std::size_t apart{};  ///< of the runs, counted nowhere below
  ErrorStatistics time, baseline, memory;
  FitCounts fit;
  RankingQuality ranking;
  RankingQuality layouts;  ///< of sets of at least 8 layouts of one model on one cluster
  LayoutOdds odds;         ///< of the same
  Coverage time_coverage, memory_coverage;  ///< by intervals of `ok` rows
  double usable{};  ///< predicted / rows that contradict neither themselves nor others
};

/// Predicts every row, in the order of the rows; `progress` hears of rows. Throws
/// InputError where an override is of no field, or of no value that it takes, for all rows.
std::vector<ValidatedRun> validate_runs(const Library& library, std::vector<MeasuredRun> runs,
                                        const std::vector<Override>& overrides,
                                        const Progress& progress = {});
/// The same, with intervals by other priors than the library's.
std::vector<ValidatedRun> validate_runs(const Library& library, std::vector<MeasuredRun> runs,
                                        const std::vector<Override>& overrides,
                                        const Uncertainty& uncertainty, const Progress& progress);

/// Groups rows by the values of some columns ("source", "card", …), in order of appearance; by
/// scale, the smallest first.
std::vector<ValidationGroup> group_runs(const std::vector<ValidatedRun>& runs,
                                        const std::vector<std::string>& columns);

// How well predictions order the plans that a team would have chosen from.

/// Kendall's tau-a between two orders of the same things: pairs in the same order less pairs in
/// the opposite one, over all pairs; equal values count neither way.
double kendall_tau(const std::vector<double>& predicted, const std::vector<double>& measured);

/// How much slower than the measured best the one predicted to be best was: measured / best - 1.
double top1_regret(const std::vector<double>& predicted, const std::vector<double>& measured);

/// The place, from 1, that the measured best has in the predicted order.
std::size_t place_of_best(const std::vector<double>& predicted,
                          const std::vector<double>& measured);

/// Which part of the prediction would have to change, and by how much, to meet the measured time.
std::string gap_explanation(const ValidatedRun& run);

}  // namespace prequel
