#include "cli/commands/commands.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/calibrate/runs_answer.hpp"
#include "cli/calibrate/runs_format.hpp"
#include "cli/text/exit_status.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

/// The file of the kind that is asked for, of the first row, under the name that is asked for.
std::string one_file(const std::vector<CalibratedFile>& files,
                     const CalibrateRunsOptions& options) {
  const std::string folder = options.kind == "cluster" ? "clusters" : "software";
  const auto found = std::ranges::find(files, folder, &CalibratedFile::folder);
  if (found == files.end()) {
    throw InputError("--kind " + options.kind + ": none of the constants is of it");
  }
  auto json = nlohmann::ordered_json::parse(found->text);
  json["name"] = options.name;
  return json.dump(2) + "\n";
}

}  // namespace

int run_calibrate_runs(const CommonOptions& common, const CalibrateRunsOptions& options) {
  if (!options.output.empty() && options.name.empty()) {
    throw InputError("--output: needs --name, the new file's name");
  }
  const Library library(common.data_directories);
  const RunsAnswer answer = answer_calibrate_runs(library, options);
  for (const std::string& warning : answer.warnings) {
    if (!common.quiet) fmt::print(stderr, "warning: {}\n", warning);
  }
  fmt::print("{}", options.format == OutputFormat::json
                       ? run_fit_json(answer, {common.call, library.inputs()})
                       : run_fit_text(answer));
  if (!options.output.empty()) write_file(options.output, one_file(answer.files, options));
  if (!options.output_directory.empty()) write_data_folder(answer.files, options.output_directory);
  return kExitDone;
}

}  // namespace prequel
