#include <algorithm>
#include <iostream>

#include <unistd.h>

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/report.hpp"
#include "cli/terminal.hpp"
#include "cli/validate/validation_format.hpp"
#include "hw/base/files.hpp"

namespace prequel {

int run_validate(const CommonOptions& common, const ValidateOptions& options) {
  const Library library(common.data_directories);
  std::vector<MeasuredRun> rows;
  for (const std::string& file : options.files) {
    std::vector<MeasuredRun> table =
        file == "-" ? read_measured_runs(std::cin, "stdin") : read_measured_runs(file);
    std::move(table.begin(), table.end(), std::back_inserter(rows));
  }
  const std::size_t total = rows.size();
  const bool show_progress = !common.quiet && total > 1000 && isatty(STDERR_FILENO) != 0;
  const auto runs =
      validate_runs(library, std::move(rows), options.overrides, [&](std::size_t done) {
        if (show_progress && done % 100 == 0) fmt::print(stderr, "\r{} of {} rows", done, total);
      });
  if (show_progress) fmt::print(stderr, "\r{:40}\r", "");
  const auto groups = group_runs(runs, options.group_columns);
  switch (options.format) {
    case OutputFormat::text:
      fmt::print(
          "{}", validation_text(runs, groups, options.worst, terminal(stdout, common.color).width));
      break;
    case OutputFormat::json: fmt::print("{}", validation_json(runs, groups)); break;
    case OutputFormat::csv: fmt::print("{}", validation_csv(runs)); break;
  }
  if (!options.report.empty()) write_file(options.report, validation_report(runs, groups));
  const bool exceeded =
      options.max_mape >= 0 && std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
        return 100 * group.time.mape > options.max_mape;
      });
  return exceeded ? kExitNo : kExitDone;
}

}  // namespace prequel
