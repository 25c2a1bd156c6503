#pragma once

/// Options of a comparison.

#include <string>

#include "cli/flags/common_options.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "models/job/library.hpp"

namespace prequel {

struct CompareOptions {
  std::string first, second;  ///< a job, what is changed of it, or both: "JOB,tp=4,cluster=NAME"
  JobRequest request;         ///< what both share
  ScriptInputs script;
  OutputFormat format{};
};

}  // namespace prequel
