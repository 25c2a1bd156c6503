#pragma once

/// Answers of `prequel calibrate runs`, made without output of their own.

#include <atomic>
#include <string>
#include <vector>

#include "calibrate/runs/calibrated_files.hpp"
#include "calibrate/runs/few_runs.hpp"
#include "cli/calibrate/calibrate_options.hpp"

namespace prequel {

struct RunsAnswer {
  RunFitReport report;
  std::vector<FewRuns> few;           ///< where the options ask for it
  std::vector<CalibratedFile> files;  ///< that the fit changes, under their names with the suffix
  std::vector<std::string> warnings;  ///< columns of which nothing is made
};

/// Fits the constants that the options name to their tables (`-` is stdin). Throws InputError, and
/// Interrupted once `stop` is set.
RunsAnswer answer_calibrate_runs(const Library& library, const CalibrateRunsOptions& options,
                                 const std::atomic<bool>* stop = nullptr);

/// Writes the files into a data folder, which is made where it is missing, for --data-dir. Throws
/// InputError.
void write_data_folder(const std::vector<CalibratedFile>& files, const std::string& directory);

}  // namespace prequel
