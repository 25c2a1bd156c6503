#include <fmt/format.h>

#include "cli/import/foreign_file.hpp"
#include "cli/options.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

/// Names that nothing is known of would be refused only where the job is used.
void check_names(const Library& library, const ImportOptions& options) {
  if (options.cluster) {
    static_cast<void>(library.open("clusters", *options.cluster, "--cluster"));
  }
  if (options.software) {
    static_cast<void>(library.open("software", *options.software, "--software"));
  }
}

}  // namespace

int run_import(const CommonOptions& common, const ImportOptions& options) {
  const Library library(common.data_directories);
  check_names(library, options);
  Import import = import_files(options.files, {options.cluster, options.software, &library});
  ImportedJob& job = import.job;
  for (const SoftwareField& field : software_fields(job)) {
    const bool in_table = !import.runs.empty() && field.path == "software.launch";
    if (in_table || field.value == name(Launch::async)) continue;
    job.report.left_out.push_back(
        fmt::format("{0}: a {1} does not say it; predict it with --set {0}={2}", field.path,
                    import.runs.empty() ? "job file" : "table of runs", field.value));
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
