#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/validate/validate_options.hpp"

namespace prequel {

void add_validate(CLI::App& app, ValidateOptions& options, const Action& action) {
  CLI::App& command =
      *app.add_subcommand("validate", "Predicts measured runs and reports the errors");
  command.footer(
      "  prequel validate data/runs/bigscience-jz-a100.csv --by date\n"
      "  prequel validate mine.csv --max-mape 8 --worst 10\n"
      "  prequel validate --all\n");
  CLI::Option* files =
      command.add_option("runs", options.files, "tables of measured runs (CSV; - for stdin)")
          ->required();
  const CLI::Option* by =
      command
          .add_option(
              "--by", options.group_columns,
              "columns that make the groups, e.g. source,table; also kind, card, scale, file")
          ->delimiter(',')
          ->allow_extra_args(false);
  command
      .add_flag_callback(
          "--all",
          [&options, files, by] {
            files->required(false);
            if (by->count() == 0) options.group_columns.clear();  // in several ways
          },
          "the shipped tables, as one")
      ->excludes(files);
  command
      .add_option("--max-mape", options.max_mape,
                  "exit with 1 if the mean error of a group is above this percentage, or no "
                  "row has an error")
      ->check(not_negative());
  command.add_option("--worst", options.worst, "how many of the worst rows to show")
      ->check(not_negative());
  command
      .add_option("--predictions", options.predictions,
                  "another tool's predictions (CSV: id, sec_per_iter, low, high, mem_gib), scored "
                  "in place of prequel's")
      ->type_name("FILE");
  add_set(command, options.overrides);
  add_report(command, options.report);
  add_format(command, options.format, true);
  command.callback(action);
}

}  // namespace prequel
