#include "cli/validate/validate_answer.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "calibrate/validate/other_predictions.hpp"
#include "calibrate/validate/run_words.hpp"
#include "cli/validate/measured_tables.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/schema.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

void check_columns(const Library& library, const std::vector<std::string>& columns,
                   const std::vector<MeasuredRun>& rows) {
  std::vector<std::string> known = known_columns(read_run_words(library));
  for (const MeasuredRun& row : rows) {
    known.insert(known.end(), row.unknown.begin(), row.unknown.end());
  }
  known.insert(known.end(), kDerivedColumns.begin(), kDerivedColumns.end());
  for (const std::string& column : columns) {
    if (std::ranges::find(known, column) == known.end()) {
      throw InputError("--by " + printable(column) + ": runs have no column " + in_quotes(column) +
                       did_you_mean(column, known));
    }
  }
}

/// The tables that the index of data/runs names, beside it.
std::vector<std::string> shipped_tables(const Library& library) {
  const Document index = library.open("runs", "tables");
  const std::filesystem::path folder = std::filesystem::path(index.file()).parent_path();
  expect_schema(index.root(), "prequel/tables/1");
  std::vector<std::string> files;
  for (const Cursor& table : index.root().at("tables").items()) {
    files.push_back((folder / (table.at("name").text() + ".csv")).string());
    static_cast<void>(table.find("noise_floor"));  // for readers
  }
  return files;
}

/// By which columns the rows are grouped, one after the other; not said: in several ways.
std::vector<std::vector<std::string>> groupings(const ValidateOptions& options) {
  if (!options.group_columns.empty()) return {options.group_columns};
  return {{"file"}, {"kind"}, {"card"}, {"precision"}, {"scale"}, {}};
}

/// More rows are a table, whose errors have more than one cause.
constexpr std::size_t kMostRowsOfGap = 8;

std::vector<GapCause> causes_of(const Library& library, const std::vector<MeasuredRun>& rows) {
  if (rows.empty() || rows.size() > kMostRowsOfGap) return {};
  const bool one_site = std::ranges::all_of(rows, [&](const MeasuredRun& row) {
    return row.cluster == rows.front().cluster && row.software == rows.front().software;
  });
  if (!one_site) return {};
  return gap_causes(observed_times(library, rows), shipped_uncertainty(library));
}

}  // namespace

ValidateAnswer answer_validate(const Library& library, const ValidateOptions& options,
                               const Progress& progress) {
  const std::vector<std::string> files =
      options.files.empty() ? shipped_tables(library) : options.files;
  std::vector<MeasuredRun> rows = read_tables(library, files);
  check_columns(library, options.group_columns, rows);
  ValidateAnswer answer;
  if (options.overrides.empty()) answer.causes = causes_of(library, rows);
  answer.runs = validate_runs(library, std::move(rows), options.overrides, progress);
  if (!options.predictions.empty()) {
    std::istringstream text(read_file(options.predictions));
    replace_predictions(answer.runs, read_other_predictions(text, options.predictions));
    answer.causes.clear();
  }
  for (const std::vector<std::string>& columns : groupings(options)) {
    auto groups = group_runs(answer.runs, columns);
    std::move(groups.begin(), groups.end(), std::back_inserter(answer.groups));
  }
  return answer;
}

}  // namespace prequel
