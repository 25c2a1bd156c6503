#pragma once

/// Worth of a calibration from few runs: some random rows of a table fitted, its others told.

#include <atomic>
#include <vector>

#include "calibrate/statistics/error_statistics.hpp"
#include "calibrate/validate/measured_runs.hpp"
#include "models/job/library.hpp"
#include "sim/answer/uncertainty.hpp"

namespace prequel {

/// Errors of the rows that were not fitted, |ln(predicted / measured)|, after so many were.
struct FewRuns {
  std::size_t fitted{};
  std::size_t picks{};
  double median{};      ///< of a pick's other rows; the mean over the picks
  double p90{};         ///< likewise
  double worst{};       ///< the largest median of a pick
  double one_factor{};  ///< median, by one factor for all rows: the baseline
  Coverage coverage;    ///< of all picks
};

/// One for each of `counts` that leaves two rows to tell, and before these one for none. Picks are
/// the same for the same table.
std::vector<FewRuns> few_runs(const Library& library, const std::vector<MeasuredRun>& runs,
                              const Uncertainty& uncertainty, const std::vector<int>& counts,
                              int picks, const std::atomic<bool>* stop = nullptr);

}  // namespace prequel
