#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include "cli/compare/compare_answer.hpp"
#include "cli/compare/compare_format.hpp"
#include "cli/flags/common_options.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/table.hpp"

namespace prequel {
namespace {

void print_warnings(const CompareAnswer& answer, const Terminal& terminal) {
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
  if (!common.quiet) print_warnings(answer, terminal(stderr, common.color));
  fmt::print("{}", options.format == OutputFormat::json
                       ? compare_json(answer, {common.call, library.inputs()})
                       : compare_text(answer, terminal(stdout, common.color)));
  return answer.is_no() ? kExitNo : kExitDone;
}

}  // namespace prequel
