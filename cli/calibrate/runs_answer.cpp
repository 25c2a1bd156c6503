#include "cli/calibrate/runs_answer.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cli/validate/measured_tables.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Letters, digits, and what stands between them: nothing that leads out of a folder.
bool is_plain(const std::string& name) {
  return !name.starts_with('.') && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '+';
  });
}

[[noreturn]] void refuse_name(const std::string& what, const std::string& name) {
  throw InputError(what + printable(name) + ": names of files have letters, digits, . - _ +");
}

}  // namespace

RunsAnswer answer_calibrate_runs(const Library& library, const CalibrateRunsOptions& options,
                                 const std::atomic<bool>* stop) {
  if (!is_plain("x" + options.suffix)) refuse_name("--suffix ", options.suffix);
  const std::vector<MeasuredRun> runs = read_tables(library, options.files);
  const Uncertainty uncertainty = shipped_uncertainty(library);
  const auto chosen = uncertain_constants(options.constants, runs, library);
  RunsAnswer answer;
  for (const MeasuredRun& run : runs) {
    for (const std::string& column : run.unknown) {
      std::string warning =
          fmt::format("column {}: not known, so that nothing is made of it", printable(column));
      if (std::ranges::find(answer.warnings, warning) != answer.warnings.end()) continue;
      answer.warnings.push_back(std::move(warning));
    }
  }
  answer.report =
      fit_runs(library, runs, uncertainty, chosen, options.folds, stop, options.fold_by);
  if (!options.few.empty()) {
    answer.few = few_runs(library, runs, uncertainty, options.few, options.picks, stop);
  }
  answer.files = calibrated_files(library, runs, uncertainty, answer.report, options.suffix);
  return answer;
}

void write_data_folder(const std::vector<CalibratedFile>& files, const std::string& directory) {
  for (const CalibratedFile& file : files) {
    if (!is_plain(file.name)) refuse_name("--output-dir: ", file.name);
  }
  for (const CalibratedFile& file : files) {
    const std::filesystem::path folder = std::filesystem::path(directory) / file.folder;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) {
      throw InputError("--output-dir " + printable(directory, 4096) +
                       ": cannot be made: " + failed.message());
    }
    write_file((folder / (file.name + ".json")).string(), file.text);
  }
}

}  // namespace prequel
