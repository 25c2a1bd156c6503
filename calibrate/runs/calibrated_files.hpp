#pragma once

/// Device, cluster and software files with the constants that runs told, and how sure they are.

#include <string>
#include <vector>

#include "calibrate/runs/calibrated_file.hpp"
#include "calibrate/runs/fit_runs.hpp"

namespace prequel {

/// The files that the rows name and that the fit changes, under their names with `suffix`; each
/// number that moved with its spread, correlations in the software file. A cluster whose device or
/// software gets a new name refers to it, and so changes, too.
std::vector<CalibratedFile> calibrated_files(const Library& library,
                                             const std::vector<MeasuredRun>& runs,
                                             const Uncertainty& uncertainty,
                                             const RunFitReport& report, const std::string& suffix);

}  // namespace prequel
