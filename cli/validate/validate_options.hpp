#pragma once

/// Options of a validation.

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "models/job/library.hpp"

namespace prequel {

struct ValidateOptions {
  std::vector<std::string> files;
  std::vector<std::string> group_columns{"source"};
  std::vector<Override> overrides;
  std::optional<double> max_mape;  ///< percent
  int worst{5};                    ///< rows shown with the largest errors
  std::string report;              ///< HTML file to write; empty: none
  std::string predictions;         ///< another tool's, scored in place of prequel's; empty: none
  OutputFormat format{};
};

}  // namespace prequel
