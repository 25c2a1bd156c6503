#pragma once

/// The most probable constants of device, cluster and software from measured runs: any number of
/// them, one is enough to help. A constant that the runs do not tell keeps its prior.

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/runs/run_quantities.hpp"
#include "calibrate/statistics/error_statistics.hpp"

namespace prequel {

/// One constant after the fit. `path` is the number of a file that it moves, or one that they all
/// follow where it moves several. A constant that stands in no file ("all") has its name there, and
/// a factor as value.
struct CalibratedConstant {
  Uncertain constant{};
  std::string path;
  double prior{};      ///< as the files say
  double value{};      ///< most probable
  double low{};        ///< of the 80 % interval
  double high{};       ///< of the 80 % interval
  double deviation{};  ///< u
  double sd{};         ///< of u
  double informed{};   ///< share by which the runs shrank the prior's spread; 0: it kept its prior
};

/// A choice and the probability that the runs give it, beside the others of the same fit.
struct WeighedChoice {
  StackChoice choice;
  double weight{};
};

struct QuantityFit {
  std::vector<CalibratedConstant> constants;
  std::vector<Uncertain> order;        ///< of the rows and columns of `correlation`
  Eigen::MatrixXd correlation;         ///< of the constants after the fit
  std::vector<WeighedChoice> choices;  ///< most probable first
  double noise{};                      ///< scale of the scatter from run to run
  ErrorStatistics before;              ///< with the files as they are
  ErrorStatistics in_sample;
  ErrorStatistics held_out;    ///< each row predicted by a fit on the other folds
  ErrorStatistics one_factor;  ///< likewise, by one factor for all rows: the baseline
  Coverage coverage;           ///< of the held-out rows
  std::size_t rows{};
};

/// Errors of times and what their intervals of 80 % hold.
struct RefitErrors {
  double median{}, p90{};  ///< of absolute relative errors
  double bias{};           ///< mean of signed relative errors
  double interval80{};     ///< share of the rows inside their interval of 80 %
  double half_width{};     ///< median of half widths of these intervals, relative
};

/// Relative errors of one row.
struct RefitRow {
  std::string id;
  double left_out{}, seen{};
};

/// How far off times of rows are whose model, card, cluster or software a fit did not see, beside
/// those of the same rows by the fit that saw them.
struct LeftOutFolds {
  std::string by;  ///< what folds have in common: model, card, cluster or software
  std::size_t folds{}, n{};
  RefitErrors left_out, seen;
  std::vector<RefitRow> rows;
};

struct RunFitReport {
  std::optional<LeftOutFolds> left_out;  ///< of times, where folds are by what rows share
  QuantityFit time;
  QuantityFit memory;  ///< no rows: nothing was printed, and nothing ran out of memory
  int folds{};
};

/// The constants that `names` say, each by its name ("network") or by a number that it moves
/// ("software.host.fixed_per_iteration_s"); all, where none is said. Throws InputError for what is
/// neither, with the nearest that is.
std::vector<Uncertain> uncertain_constants(const std::vector<std::string>& names,
                                           const std::vector<MeasuredRun>& runs,
                                           const Library& library);

/// Fits times and memory, each with the constants among `chosen` that move it, and the choices of
/// the stack where none is fixed by `chosen`; row i belongs to fold i % folds, or to that of its
/// `fold_by` (model, card, cluster, software): each is fitted on the rows of the others. Throws
/// InputError when no row can be used or no second fold is there, and Interrupted once `stop` is
/// set.
RunFitReport fit_runs(const Library& library, const std::vector<MeasuredRun>& runs,
                      const Uncertainty& uncertainty, const std::vector<Uncertain>& chosen,
                      int folds, const std::atomic<bool>* stop = nullptr,
                      const std::string& fold_by = {});

}  // namespace prequel
