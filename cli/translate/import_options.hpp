#pragma once

/// Options of an import.

#include <optional>
#include <string>
#include <vector>

#include "cli/import/shell/script_inputs.hpp"
#include "models/job/library.hpp"

namespace prequel {

struct ImportOptions {
  std::vector<std::string> files;
  std::optional<std::string> cluster, software;  ///< names for the job
  std::optional<std::string> model;              ///< in the place of that of the files
  std::vector<Override> overrides;               ///< degrees, nodes and batch over those of files
  ScriptInputs script;
  bool explain{};  ///< list where each field is from
};

}  // namespace prequel
