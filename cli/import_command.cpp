#include <fmt/format.h>

#include "cli/import/foreign_file.hpp"
#include "cli/options.hpp"

namespace prequel {

int run_import(const CommonOptions& common, const ImportOptions& options) {
  Import import = import_files(options.files);
  ImportedJob& job = import.job;
  job.cluster = options.cluster;
  job.software = options.software;
  if (!import.runs.empty()) assume_names(import);
  if (!common.quiet) fmt::print(stderr, "{}", report_text(job.report));
  if (import.runs.empty()) {
    fmt::print("{}", job_json(job, fmt::format("{}", fmt::join(options.files, ", "))));
  } else {
    fmt::print("{}", runs_csv(import.runs));
  }
  return kExitDone;
}

}  // namespace prequel
