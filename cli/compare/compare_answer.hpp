#pragma once

/// Answers of `prequel compare`, made without output of their own.

#include <array>
#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "cli/text/tell.hpp"
#include "models/job/library.hpp"
#include "sim/answer/difference.hpp"

namespace prequel {

struct CompareOptions {
  std::string first, second;  ///< a job, what is changed of it, or both: "JOB,tp=4,cluster=NAME"
  JobRequest request;         ///< what both share
  ScriptInputs script;
  OutputFormat format{};
};

struct ComparedSide {
  std::string asked;  ///< as the user says it
  Scenario scenario;
  Prediction prediction;
  Interval interval;

  [[nodiscard]] double tokens_per_iteration() const;
};

/// Something that is said of both sides, and differently.
struct UnlikeInput {
  std::string path;  ///< "cluster", "plan.tp", "software.kernels.gemm_time_factor"
  std::array<std::string, 2> values;
};

struct CompareAnswer {
  ComparedSide first, second;
  std::vector<UnlikeInput> unlike;
  Difference difference;

  /// Tests whether the answer is "no": one of the two is out of memory.
  [[nodiscard]] bool is_no() const;
};

/// Reads both sides and predicts them; `tell` hears what was made of other tools' files. Throws
/// InputError.
CompareAnswer answer_compare(const Library& library, const CompareOptions& options,
                             const Tell& tell);

}  // namespace prequel
