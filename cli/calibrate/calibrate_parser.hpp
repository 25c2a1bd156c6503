#pragma once

/// The command line of `prequel calibrate`.

#include <functional>

#include "cli/calibrate/calibrate_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// The options of each sub-command, and what runs it.
struct CalibrateOptions {
  CalibrateMeasureOptions measure;
  CalibrateFitOptions fit;
  CalibrateCheckOptions check;
  CalibrateCompareOptions compare;
  CalibrateRunsOptions runs;
  CalibrateAdviseOptions advise;
};
struct CalibrateActions {
  std::function<void()> measure, fit, check, compare, runs, advise;
};

/// Adds to a command what names a job: its file, its inputs and its plan.
using AddJob = std::function<void(CLI::App& command, JobRequest& request)>;

/// Adds `runs`, one of the sub-commands of `calibrate`.
void add_calibrate_runs(CLI::App& calibrate, CalibrateRunsOptions& options,
                        const std::function<void()>& action);

/// Adds `calibrate` with its sub-commands; the action of the one that was chosen runs.
void add_calibrate(CLI::App& app, CalibrateOptions& options, const CalibrateActions& actions,
                   const AddJob& add_job);

}  // namespace prequel
