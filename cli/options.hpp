#pragma once

/// What the command line says, command by command: the parsers fill these, the commands read them.

#include <optional>
#include <string>
#include <vector>

#include "cli/import/script_inputs.hpp"
#include "models/job/library.hpp"
#include "sim/run/training_run.hpp"

namespace prequel {

enum class OutputFormat : std::uint8_t { text, json, csv };

/// Options that all commands share.
struct CommonOptions {
  std::vector<std::string> data_directories;
  std::string color{"auto"};  ///< auto, always, never
  bool quiet{};
  std::string call;  ///< the call that asks the same, as `call_text` spells it
};

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

struct ImportOptions {
  std::vector<std::string> files;
  std::optional<std::string> cluster, software;  ///< names for the job
  std::vector<Override> overrides;               ///< degrees, nodes and batch over those of files
  ScriptInputs script;
};

struct ShowOptions {
  std::string kind;  ///< models, devices, clusters, software, jobs (or the singular)
  std::string name;  ///< empty: list the kind
  OutputFormat format{};
};

struct ValidateOptions {
  std::vector<std::string> files;
  std::vector<std::string> group_columns{"source"};
  std::vector<Override> overrides;
  std::optional<double> max_mape;  ///< percent
  int worst{5};                    ///< rows shown with the largest errors
  std::string report;              ///< HTML file to write; empty: none
  OutputFormat format{};
};

/// Exit statuses of the program (contract with scripts).
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;  ///< the answer is "no": out of memory, nothing fits, limit
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitInterrupted = 130;

int run_predict(const CommonOptions& common, const PredictOptions& options);
int run_import(const CommonOptions& common, const ImportOptions& options);
int run_show(const CommonOptions& common, const ShowOptions& options);
int run_validate(const CommonOptions& common, const ValidateOptions& options);

}  // namespace prequel
