#pragma once

/// What the command line says to `prequel calibrate check` and `prequel calibrate fit`.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace prequel {

struct CalibrateCheckOptions {
  std::vector<std::string> files;
  std::optional<std::string> device;   ///< name or file
  std::optional<std::string> cluster;  ///< name or file; one of the two
  std::string by;
  std::string scale_per;
  std::vector<std::string> where;
  OutputFormat format{};
};

struct CalibrateFitOptions {
  std::vector<std::string> files;
  std::string kind;  ///< device or cluster
  std::string name;
  std::string output{"-"};
  std::optional<std::string> device;   ///< base: what is not fitted is taken from it
  std::optional<std::string> cluster;  ///< base
  std::string scale_per{"source"};
  double hold_out{0.5};
  std::vector<std::string> where;
  OutputFormat format{};
};

int run_calibrate_check(const CommonOptions& common, const CalibrateCheckOptions& options);
int run_calibrate_fit(const CommonOptions& common, const CalibrateFitOptions& options);

}  // namespace prequel
