#pragma once

/// Options of a prediction.

#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "models/job/library.hpp"
#include "sim/run/training_run.hpp"

namespace prequel {

struct PredictOptions {
  JobRequest request;
  ScriptInputs script;
  std::string flops_convention{"prequel"};
  RunQuestion run;
  bool contention{};                 ///< play what runs at once in each other's way, too
  std::string report;                ///< HTML file to write; empty: none
  std::vector<std::string> explain;  ///< names of kernels
  bool verbose{};                    ///< tell which model priced which kernel
  std::string emit;                  ///< the framework to print the plan for; empty: none
  std::string trace;                 ///< file; empty: none
  std::string memory_snapshot;       ///< file; empty: none
  std::string detail{"layer"};       ///< of the trace: layer, kernel
  std::string ranks{"stages"};  ///< in trace and snapshot: numbers, or the first rank of each stage
  OutputFormat format{};
};

}  // namespace prequel
