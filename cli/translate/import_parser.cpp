#include <CLI/CLI.hpp>

#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/translate/import_options.hpp"
#include "models/axes/axes.hpp"

namespace prequel {

void add_import(CLI::App& app, ImportOptions& options, const Action& action) {
  CLI::App& command = *app.add_subcommand(
      "import", "Other tools' files to a job, training logs to a table of runs (on stdout)");
  command.footer(
      "  prequel import config.json ds_config.json > job.json\n"
      "  prequel import train.sh log.txt | prequel validate -\n");
  command
      .add_option("files", options.files,
                  "Hugging Face config.json, DeepSpeed ds_config.json, Megatron launch script, "
                  "YAML, torchtitan's TOML, Python of plain assignments, training log (- for "
                  "stdin); later ones override")
      ->required();
  add_name(command, "--model", options.model, "model name or file in the place of the files'");
  add_name(command, "--cluster", options.cluster, "cluster name for the job");
  add_name(command, "--software", options.software, "software stack name for the job");
  each_axis([&](const auto& axis) {
    const bool is_said = axis.role == RankRole::copies || axis.role == RankRole::replica ||
                         axis.name == "nodes" || axis.name == "mbs" || axis.name == "gbs";
    if (is_said) add_plan_field(command, axis.name, options.overrides);
  });
  add_script(command, options.script);
  command.add_flag("--explain", options.explain,
                   "list each field of the job: its value, how sure it is and where it comes from");
  command.callback(action);
}

}  // namespace prequel
