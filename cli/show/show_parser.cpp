#include <CLI/CLI.hpp>

#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/show/show_options.hpp"

namespace prequel {

void add_show(CLI::App& app, ShowOptions& options, const Action& action) {
  CLI::App& command =
      *app.add_subcommand("show", "Lists and prints models, devices, clusters, software and jobs");
  command.footer(
      "  prequel show models\n"
      "  prequel show constants\n"
      "  prequel show device a100-sxm-80gb\n");
  command.add_option("kind", options.kind, "what to list")
      ->type_name("models|devices|clusters|software|jobs|constants");
  command.add_option("name", options.name, "print this one, with the origin of each number");
  add_format(command, options.format, false);
  command.callback(action);
}

}  // namespace prequel
