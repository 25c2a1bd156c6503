#pragma once

/// Options of the sub-commands of `prequel calibrate`.

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "models/job/library.hpp"

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
  std::optional<std::string>
      device;  ///< base: what is not fitted is taken from it; or a cluster's device
  std::optional<std::string> cluster;  ///< base
  std::string scale_per{"source"};
  int folds{2};
  std::vector<std::string> where;
  OutputFormat format{};
};

/// Handed on to prequel-measure.
struct CalibrateMeasureOptions {
  std::string backend;
  std::string budget{"10m"};
  std::string output;
  bool resume{};
  JobRequest request;  ///< whose shapes are measured, too; empty: the grid alone
};

struct CalibrateCompareOptions {
  std::vector<std::string> files;  ///< the first is what the others are compared with
  int worst{5};                    ///< points shown of each file
  OutputFormat format{};
};

struct CalibrateRunsOptions {
  std::vector<std::string> files;
  std::vector<std::string> constants;  ///< names or paths as of --set; empty: all
  int folds{5};
  std::string fold_by;  ///< model, card, cluster or software: what a fold leaves out; empty: rows
  std::string kind{"software"};  ///< of the file that is written
  std::string name;
  std::string output;            ///< empty: no file
  std::string output_directory;  ///< a data folder for all files that change; empty: none
  std::string suffix;            ///< of the names in it
  std::vector<int> few;          ///< counts of random rows to fit, the others told
  int picks{16};                 ///< of each count
  OutputFormat format{};
};

struct CalibrateAdviseOptions {
  JobRequest request;
  int top{8};
  OutputFormat format{};
};

}  // namespace prequel
