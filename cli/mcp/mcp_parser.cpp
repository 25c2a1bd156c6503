#include <CLI/CLI.hpp>

#include "cli/flags/parsers.hpp"
#include "cli/mcp/mcp_session.hpp"

namespace prequel {

void add_mcp(CLI::App& app, McpOptions& options, const Action& action) {
  CLI::App& command = *app.add_subcommand(
      "mcp", "Answers agents: a Model Context Protocol server on stdin and stdout");
  command.footer(
      "  prequel mcp\n"
      "  prequel mcp --folder answers\n");
  command.add_option("--folder", options.folder, "where tools may save whole answers")
      ->type_name("DIR");
  command.add_option("--deadline", options.deadline, "seconds that a call may take (120)")
      ->check(CLI::Range(1, 86400));
  command.callback(action);
}

}  // namespace prequel
