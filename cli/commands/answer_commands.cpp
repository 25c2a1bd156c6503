#include "cli/commands/commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands/progress_line.hpp"
#include "cli/compare/compare_answer.hpp"
#include "cli/compare/compare_format.hpp"
#include "cli/report/report.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/table.hpp"
#include "cli/translate/import_answer.hpp"
#include "cli/validate/validate_answer.hpp"
#include "cli/validate/validation_format.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

void print_side_warnings(const CompareAnswer& answer, const Terminal& terminal) {
  for (const auto& [label, side] : {std::pair{"A", &answer.first}, {"B", &answer.second}}) {
    for (const std::string& warning : side->prediction.warnings) {
      const std::string line =
          fmt::format("{} {}: {}", inked(terminal, Ink::yellow, "warning:"), label, warning);
      fmt::print(stderr, "{}\n", wrapped(line, terminal.at_most(100), "  "));
    }
  }
}

}  // namespace

int run_compare(const CommonOptions& common, const CompareOptions& options) {
  const Library library(common.data_directories);
  const CompareAnswer answer = answer_compare(library, options, tell_stderr(common.quiet));
  if (!common.quiet) print_side_warnings(answer, terminal(stderr, common.color));
  fmt::print("{}", options.format == OutputFormat::json
                       ? compare_json(answer, {common.call, library.inputs()})
                       : compare_text(answer, terminal(stdout, common.color)));
  return answer.is_no() ? kExitNo : kExitDone;
}

int run_import(const CommonOptions& common, const ImportOptions& options) {
  const Library library(common.data_directories);
  const ImportAnswer answer = answer_import(library, options);
  if (!common.quiet) fmt::print(stderr, "{}", report_text(answer.report));
  fmt::print(stderr, "{}", origins_text(answer.fields));
  fmt::print("{}{}", answer.job, answer.runs);
  return kExitDone;
}

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
