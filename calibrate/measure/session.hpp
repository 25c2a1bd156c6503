#pragma once

/// One measurement from the first point to the last, or to the end of its time.

#include <cstddef>
#include <functional>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/journal.hpp"
#include "calibrate/measure/sampling.hpp"

namespace prequel {

struct SessionOptions {
  Seconds budget{600.0};
  SamplingRule rule;        ///< its budget is replaced by the point's share of what is left
  std::vector<Work> first;  ///< to measure before the grid: the shapes of a job
};

struct SessionResult {
  std::size_t measured{};
  std::size_t skipped{};  ///< did not fit in memory, or are not for this back end
  std::size_t resumed{};  ///< were in the file already
  std::size_t left{};     ///< found no time
  double lowest_mhz{};    ///< clock after a point; 0: the back end does not tell
  double highest_mhz{};
};

/// Told after every point: points done, points in all, seconds left of the budget.
using PointProgress = std::function<void(std::size_t done, std::size_t points, Seconds left)>;

/// Measures `first` and the back end's grid within the budget. Each point gets an even share of the
/// time that is left, so that what quick points save goes to slow ones; one is not begun when the
/// time that the slowest took so far is not left. A point whose timer tells no time is skipped.
/// Processes other than the first pass no journal.
SessionResult run_session(Backend& backend, Journal* journal, const SessionOptions& options,
                          const Clock& clock, const PointProgress& progress);

/// prequel-measure as a function: measures as the arguments ask; what is wrong is said on stderr.
/// The budget is kept by `clock`. Returns the exit status.
int run_measure_program(int argc, char** argv, const Clock& clock);

}  // namespace prequel
