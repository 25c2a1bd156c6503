#include <fmt/format.h>

#include "cli/import/foreign_file.hpp"
#include "cli/options.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

/// Names that nothing is known of would be refused only where the job is used.
void check_names(const CommonOptions& common, const ImportOptions& options) {
  const Library library(common.data_directories);
  if (options.cluster) {
    static_cast<void>(library.open("clusters", *options.cluster, "--cluster"));
  }
  if (options.software) {
    static_cast<void>(library.open("software", *options.software, "--software"));
  }
}

}  // namespace

int run_import(const CommonOptions& common, const ImportOptions& options) {
  check_names(common, options);
  Import import = import_files(options.files, {options.cluster, options.software});
  ImportedJob& job = import.job;
  if (import.runs.empty() && job.launch == Launch::blocking) {
    job.report.left_out.emplace_back(
        "software.launch: a job file does not say it; predict it with --set "
        "software.launch=blocking");
  }
  if (!common.quiet) fmt::print(stderr, "{}", report_text(job.report));
  if (import.runs.empty()) {
    fmt::print("{}", job_json(job, fmt::format("{}", fmt::join(options.files, ", "))));
  } else {
    fmt::print("{}", runs_csv(import.runs));
  }
  return kExitDone;
}

}  // namespace prequel
