#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include "cli/flags/common_options.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/translate/import_answer.hpp"

namespace prequel {

int run_import(const CommonOptions& common, const ImportOptions& options) {
  const Library library(common.data_directories);
  const ImportAnswer answer = answer_import(library, options);
  if (!common.quiet) fmt::print(stderr, "{}", report_text(answer.report));
  fmt::print(stderr, "{}", origins_text(answer.fields));
  fmt::print("{}{}", answer.job, answer.runs);
  return kExitDone;
}

}  // namespace prequel
