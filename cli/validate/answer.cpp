#include "cli/validate/answer.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

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

/// Of a file, a pipe or, where `file` is `-`, stdin, which are read but once.
std::string table_text(const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened || std::filesystem::is_directory(file)) read_measured_runs(file);  // says why
  }
  std::istream& in = file == "-" ? std::cin : opened;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<MeasuredRun> read_rows(const Library& library, const std::vector<std::string>& files) {
  std::vector<MeasuredRun> rows;
  for (const std::string& file : files) {
    const std::string text = table_text(file);
    library.note_input("runs", file, text);
    const std::string name = file == "-" ? "stdin" : file;
    std::istringstream in(text);
    std::vector<MeasuredRun> table = read_measured_runs(in, name);
    if (table.empty()) throw InputError(name + ": no run below the header");
    std::move(table.begin(), table.end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace

ValidateAnswer answer_validate(const Library& library, const ValidateOptions& options,
                               const std::function<void(std::size_t, std::size_t)>& progress) {
  check_columns(options.group_columns);
  std::vector<MeasuredRun> rows = read_rows(library, options.files);
  const std::size_t total = rows.size();
  ValidateAnswer answer;
  answer.runs = validate_runs(library, std::move(rows), options.overrides,
                              [&](std::size_t done) { progress(done, total); });
  answer.groups = group_runs(answer.runs, options.group_columns);
  return answer;
}

}  // namespace prequel
