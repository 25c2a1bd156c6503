#include <algorithm>
#include <iostream>

#include <unistd.h>

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/report.hpp"
#include "cli/terminal.hpp"
#include "cli/validate/validation_format.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

void check_columns(const std::vector<std::string>& columns) {
  const std::vector<std::string> known = run_columns();
  for (const std::string& column : columns) {
    if (std::ranges::find(known, column) == known.end()) {
      throw InputError("--by " + printable(column) + ": runs have no column " + in_quotes(column) +
                       did_you_mean(column, known));
    }
  }
}

std::vector<MeasuredRun> read_rows(const std::vector<std::string>& files) {
  std::vector<MeasuredRun> rows;
  for (const std::string& file : files) {
    std::vector<MeasuredRun> table =
        file == "-" ? read_measured_runs(std::cin, "stdin") : read_measured_runs(file);
    if (table.empty()) {
      throw InputError((file == "-" ? "stdin" : file) + ": no run below the header");
    }
    std::move(table.begin(), table.end(), std::back_inserter(rows));
  }
  return rows;
}

/// Whether the errors keep to `max_mape`; where there are none, nothing is known to.
bool keeps_to(double max_mape, const std::vector<ValidatedRun>& runs,
              const std::vector<ValidationGroup>& groups) {
  if (std::ranges::none_of(runs, [](const auto& run) { return run.time_error.has_value(); })) {
    fmt::print(stderr, "prequel: --max-mape {}: none of {} rows has an error to hold against it\n",
               max_mape, runs.size());
    return false;
  }
  return std::ranges::none_of(groups,
                              [&](const auto& group) { return 100 * group.time.mape > max_mape; });
}

}  // namespace

int run_validate(const CommonOptions& common, const ValidateOptions& options) {
  check_columns(options.group_columns);
  const Library library(common.data_directories);
  std::vector<MeasuredRun> rows = read_rows(options.files);
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
  const bool kept = !options.max_mape || keeps_to(*options.max_mape, runs, groups);
  return kept ? kExitDone : kExitNo;
}

}  // namespace prequel
