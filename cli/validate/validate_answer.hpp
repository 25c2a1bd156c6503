#pragma once

/// Answers of `prequel validate`, made without output of their own.

#include <vector>

#include "calibrate/runs/gap.hpp"
#include "calibrate/validate/validation.hpp"
#include "cli/validate/validate_options.hpp"

namespace prequel {

struct ValidateAnswer {
  std::vector<ValidatedRun> runs;
  std::vector<ValidationGroup> groups;
  std::vector<GapCause> causes;  ///< of the gap, where all rows are a few of one stack and cluster
};

/// Reads the tables (`-` is stdin) and predicts their rows; `progress` is told how many are done,
/// of how many. Throws InputError.
ValidateAnswer answer_validate(const Library& library, const ValidateOptions& options,
                               const Progress& progress);

}  // namespace prequel
