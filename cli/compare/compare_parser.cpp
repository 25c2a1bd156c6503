#include <CLI/CLI.hpp>

#include "cli/compare/compare_options.hpp"
#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"

namespace prequel {

void add_compare(CLI::App& app, CompareOptions& options, const Action& action) {
  CLI::App& command = *app.add_subcommand(
      "compare", "Tells two plans, clusters, stacks or releases apart, and how surely");
  command.footer(
      "  prequel compare bloom-176b-jean-zay mbs=1,recompute=none\n"
      "  prequel compare cluster=dgx-a100 cluster=dgx-h100 --model gpt3-175b --nodes 48 --tp 8 "
      "--pp 12 --gbs 1536\n");
  constexpr const char* kSide =
      "a job, or the fields of this side that differ (FIELD=VALUE,…), or both: JOB,tp=4; fields "
      "are axes of the plan, model, cluster, device, software, and paths as of --set";
  command.add_option("a", options.first, kSide)->required();
  command
      .add_option("b", options.second,
                  "the other one, likewise; where it names no job, it is that of a")
      ->required();
  add_job_fields(command, options.request);
  add_script(command, options.script);
  add_format(command, options.format, false);
  command.callback(action);
}

}  // namespace prequel
