#include "cli/validate/answer.hpp"

#include <algorithm>

#include "cli/measured_tables.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

void check_columns(const std::vector<std::string>& columns) {
  const std::vector<std::string> known = run_columns();
  for (const std::string& column : columns) {
    if (std::ranges::find(known, column) == known.end()) {
      throw InputError("--by " + printable(column) + ": runs have no column " + in_quotes(column) +
                       did_you_mean(column, known));
    }
  }
}

}  // namespace

ValidateAnswer answer_validate(const Library& library, const ValidateOptions& options,
                               const std::function<void(std::size_t, std::size_t)>& progress) {
  check_columns(options.group_columns);
  std::vector<MeasuredRun> rows = read_tables(library, options.files);
  const std::size_t total = rows.size();
  ValidateAnswer answer;
  answer.runs = validate_runs(library, std::move(rows), options.overrides,
                              [&](std::size_t done) { progress(done, total); });
  answer.groups = group_runs(answer.runs, options.group_columns);
  return answer;
}

}  // namespace prequel
