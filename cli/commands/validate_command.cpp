#include "cli/commands/commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands/progress_line.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/report/report.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/terminal.hpp"
#include "cli/validate/validate_answer.hpp"
#include "cli/validate/validation_format.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

/// Tests whether the errors keep to `max_mape`; nothing keeps to it where there are no errors.
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
  const Library library(common.data_directories);
  const auto [runs, groups, causes] = [&] {
    ProgressLine progress(common.quiet);
    return answer_validate(library, options, progress.of("rows"));
  }();
  if (!options.report.empty()) {
    // Sources of runs are paths and commits: a reader looks for tables, unless others are asked
    // for.
    const bool by_source = options.group_columns == ValidateOptions{}.group_columns;
    write_file(options.report,
               validation_report(runs, by_source ? group_runs(runs, {"file"}) : groups));
  }
  switch (options.format) {
    case OutputFormat::text:
      fmt::print("{}", validation_text(runs, groups, options.worst,
                                       terminal(stdout, common.color).width, causes));
      break;
    case OutputFormat::json:
      fmt::print("{}",
                 validation_json(runs, groups, causes, Context{common.call, library.inputs()}));
      break;
    case OutputFormat::csv: fmt::print("{}", validation_csv(runs)); break;
  }
  const bool kept = !options.max_mape || keeps_to(*options.max_mape, runs, groups);
  return kept ? kExitDone : kExitNo;
}

}  // namespace prequel
