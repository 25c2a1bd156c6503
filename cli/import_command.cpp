#include <fmt/format.h>

#include "cli/import/foreign_file.hpp"
#include "cli/options.hpp"

namespace prequel {

int run_import(const CommonOptions& common, const ImportOptions& options) {
  ImportedJob job = import_files(options.files);
  job.cluster = options.cluster;
  job.software = options.software;
  if (!common.quiet) fmt::print(stderr, "{}", report_text(job.report));
  fmt::print("{}", job_json(job, fmt::format("{}", fmt::join(options.files, ", "))));
  return kExitDone;
}

}  // namespace prequel
