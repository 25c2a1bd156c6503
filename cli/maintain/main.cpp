/// `prequel-maintain`: makes the numbers that are shipped with prequel from its tables.

#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/maintain/spread_program.hpp"
#include "cli/text/exit_status.hpp"

int main(int argc, char** argv) {
  using namespace prequel;
  CLI::App app("Makes the numbers that are shipped with prequel.", "prequel-maintain");
  app.require_subcommand(1);
  SpreadOptions options;
  CLI::App& spread = *app.add_subcommand(
      "spread", "How far constants lie from one stack to the next, from tables of measured runs");
  spread.footer("  prequel-maintain spread data/runs/*.csv --stacks-only --output priors.json");
  spread.add_option("files", options.files, "tables of measured runs (CSV)")->required();
  spread.add_option("--data-dir", options.data_directories, "look here first for files of data")
      ->allow_extra_args(false);
  spread
      .add_option("--output", options.output, "write data/uncertainty/priors.json with them here")
      ->check(file_beside_answer());
  spread.add_flag("--stacks-only", options.stacks_only,
                  "find only how well each stack is known; the spreads of constants stay");
  spread
      .add_option("--fold-by", options.fold_by,
                  "also the intervals of rows whose model, card, cluster or release is left out")
      ->check(CLI::IsMember({"model", "card", "cluster", "software"}));
  spread.add_flag("--json", options.json, "print the report as one JSON document");
  try {
    app.parse(argc, argv);
    run_spread(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "prequel-maintain: {}\n", error.what());
    return kExitBadInput;
  }
  return kExitDone;
}
