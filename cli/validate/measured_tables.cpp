#include "cli/validate/measured_tables.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "hw/base/built_in_files.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

/// As of all files: some 20,000 rows.
constexpr std::size_t kMostBytes = 16u << 20;

/// Returns the text of a file, of a pipe or, where `file` is `-`, of stdin; these two are read but
/// once.
std::string table_text(const std::string& file) {
  if (const auto carried = built_in_file(file)) return std::string(*carried);
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened || is_folder(file)) read_measured_runs(file);  // says why
  }
  std::istream& in = file == "-" ? std::cin : opened;
  std::string text;
  for (std::string piece(1u << 20, '\0'); in;) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMostBytes) {
      throw InputError((file == "-" ? "stdin" : file) +
                       ": a table of more than 16 MiB; parts of it would do");
    }
  }
  return text;
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
    std::vector<MeasuredRun> table = read_measured_runs(in, name, library);
    if (table.empty()) throw InputError(name + ": no run below the header");
    std::move(table.begin(), table.end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace prequel
