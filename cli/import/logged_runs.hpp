#pragma once

/// Turns training logs into rows of a table of measured runs.

#include <string>
#include <vector>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/logs/training_log.hpp"
#include "cli/import/named_inputs.hpp"

namespace prequel {

/// Reads Megatron's dump into `job`, over what other files said: what a dump has as None, False or
/// 0 was not asked for. Throws InputError, naming `file` and argument, for values that cannot be.
void read_argument_dump(const std::string& file, const LogSection::Arguments& arguments,
                        Facts& job);

/// Reads what DeepSpeed's engine prints of its config; what cannot be read is passed over.
void read_engine_arguments(const std::string& file, const LogSection::Arguments& arguments,
                           Facts& job);

/// One run that a log tells of: a plan at one global batch size.
struct LoggedRun {
  std::string id;                        ///< unique within its log
  std::string source;                    ///< the log
  ImportedJob job;                       ///< completed
  std::optional<double> sec_per_iter;    ///< the median
  std::optional<double> tflops_per_gpu;  ///< the median, as printed
  bool hardware_flops{};                 ///< whether that counts recomputation
  std::optional<double> memory_gib;
  bool out_of_memory{};
  bool torchtitan{};  ///< as its lines tell
  std::string notes;
};

/// One run for each settled global batch size (at least three lines after the warm-up; where none
/// has as many, the last one as it is). `job` is what other files say; arguments in the log
/// override it, and what the user says overrides those. Whatever was left out is added to `report`.
/// Throws InputError for a log that times nothing beyond its start-up, or rates of sequences
/// without a batch size.
std::vector<LoggedRun> logged_runs(const std::string& file, const TrainingLog& log,
                                   const Facts& job, const ImportNames& names,
                                   ImportReport& report);

/// The table (columns of measured_runs.hpp).
std::string runs_csv(const std::vector<LoggedRun>& runs);

}  // namespace prequel
