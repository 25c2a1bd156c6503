#include "cli/parsers.hpp"

#include <CLI/CLI.hpp>

#include "cli/flag_checks.hpp"
#include "cli/job_flags.hpp"

namespace prequel {

void add_import(CLI::App& app, ImportOptions& options, const std::function<void()>& action) {
  CLI::App& command = *app.add_subcommand(
      "import", "Other tools' files to a job, training logs to a table of runs (on stdout)");
  command.footer(
      "  prequel import config.json ds_config.json > job.json\n"
      "  prequel import train.sh log.txt | prequel validate -\n");
  command
      .add_option("files", options.files,
                  "Hugging Face config.json, DeepSpeed ds_config.json, Megatron launch script, "
                  "YAML, torchtitan's TOML, training log (- for stdin); later ones override")
      ->required();
  add_name(command, "--cluster", options.cluster, "cluster name for the job");
  add_name(command, "--software", options.software, "software stack name for the job");
  for (const char* field : {"nodes", "dp", "tp", "pp", "cp", "mbs", "gbs"}) {
    add_plan_field(command, field, options.overrides);
  }
  add_script(command, options.script);
  command.callback(action);
}

void add_show(CLI::App& app, ShowOptions& options, const std::function<void()>& action) {
  CLI::App& command =
      *app.add_subcommand("show", "Lists and prints models, devices, clusters, software and jobs");
  command.footer(
      "  prequel show models\n"
      "  prequel show device a100-sxm-80gb\n");
  command.add_option("kind", options.kind, "what to list")
      ->type_name("models|devices|clusters|software|jobs");
  command.add_option("name", options.name, "print this one, with the origin of each number");
  add_format(command, options.format, false);
  command.callback(action);
}

void add_validate(CLI::App& app, ValidateOptions& options, const std::function<void()>& action) {
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
  add_set(command, options.overrides);
  add_report(command, options.report);
  add_format(command, options.format, true);
  command.callback(action);
}

void add_mcp(CLI::App& app, McpOptions& options, const std::function<void()>& action) {
  CLI::App& command = *app.add_subcommand(
      "mcp", "Answers agents: a Model Context Protocol server on stdin and stdout");
  command.footer(
      "  prequel mcp\n"
      "  prequel mcp --folder answers\n");
  command.add_option("--folder", options.folder, "where tools may save whole answers")
      ->type_name("DIR");
  command.callback(action);
}

}  // namespace prequel
