#pragma once

/// Fits the few constants of a software or cluster file that only whole training runs can tell.

#include <string>
#include <vector>

#include "calibrate/error_statistics.hpp"
#include "calibrate/least_squares.hpp"
#include "calibrate/measured_runs.hpp"

namespace prequel {

/// One constant: a field as --set spells it; the search begins at the files' value.
struct RunConstant {
  std::string path;  ///< "software.host.fixed_per_iteration_s"
  double start{};
};

struct RunFitReport {
  LeastSquaresFit fit;     ///< on all rows
  ErrorStatistics before;  ///< with the files as they are
  ErrorStatistics in_sample;
  ErrorStatistics held_out;  ///< each row predicted by constants fitted on the other folds
  std::size_t rows{};
  int folds{};
};

/// The constants that `paths` name, with their values in the files of the first row. Throws
/// InputError for an unknown field, one that is no positive number, or more than five.
std::vector<RunConstant> run_constants(const Library& library, const std::vector<MeasuredRun>& runs,
                                       const std::vector<std::string>& paths);

/// Fits logarithms of predicted over measured seconds with a soft-L1 loss (scale 5 %), on the rows
/// that ran and can be predicted; row i belongs to fold i % folds. Throws InputError when fewer
/// than two rows a constant are left.
RunFitReport fit_runs(const Library& library, const std::vector<MeasuredRun>& runs,
                      const std::vector<RunConstant>& constants, int folds);

}  // namespace prequel
