#include "cli/validate/measured_tables.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

/// Of a file, a pipe or, where `file` is `-`, stdin, which are read but once.
std::string table_text(const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened || is_folder(file)) read_measured_runs(file);  // says why
  }
  std::istream& in = file == "-" ? std::cin : opened;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::vector<MeasuredRun> read_tables(const Library& library,
                                     const std::vector<std::string>& files) {
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

}  // namespace prequel
