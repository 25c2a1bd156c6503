#include <doctest/doctest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

/// The text literals of a line, without what a comment holds.
std::vector<std::string> literals_of(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 2, "//") == 0) break;
    if (line.compare(i, 3, "'\"'") == 0) i += 3;
    if (i >= line.size() || line[i] != '"') continue;
    std::string text;
    for (++i; i < line.size() && line[i] != '"'; ++i) {
      if (line[i] == '\\') text += line[i++];
      if (i < line.size()) text += line[i];
    }
    found.push_back(text);
  }
  return found;
}

TEST_CASE("literals are found, comments and quotes inside of them left out") {
  CHECK(literals_of(R"(fail("a \"b\"", '"', "c");  // "d")") ==
        std::vector<std::string>{R"(a \"b\")", "c"});
  CHECK(literals_of("plain();").empty());
}

TEST_CASE("libraries speak of what callers set by its name, never by a flag") {
  const std::regex flag("--[a-z]");
  for (const char* floor : {"hw", "models", "sim", "calibrate"}) {
    for (const std::string& file : files_under(floor, {".hpp", ".cpp", ".cu", ".cuh"})) {
      if (file == "calibrate/measure/measure_program.cpp") continue;  // a program
      for (const std::string& line : lines_of(file)) {
        for (const std::string& literal : literals_of(line)) {
          CHECK_MESSAGE(!std::regex_search(literal, flag), file, ": ", line);
        }
      }
    }
  }
}

TEST_CASE("names of tests are single sentences") {
  for (const std::string& file : files_under("tests", {".cpp"})) {
    bool in_name = false;
    for (const std::string& line : lines_of(file)) {
      in_name = in_name || line.starts_with("TEST_CASE(");
      if (!in_name) continue;
      for (const std::string& literal : literals_of(line)) {
        CHECK_MESSAGE(literal.find(';') == std::string::npos, file, ": ", literal);
      }
      in_name = line.find(") {") == std::string::npos;
    }
  }
}

/// Programs, and what talks to their terminal or their client.
bool may_print(const std::string& file) {
  return file.starts_with("cli/commands/") || file.starts_with("cli/maintain/") ||
         file == "cli/command_line.cpp" || file == "cli/mcp/server.cpp" ||
         file == "cli/text/terminal.cpp" || file == "calibrate/measure/measure_program.cpp" ||
         file == "calibrate/measure/cuda_timing.cpp";
}

TEST_CASE("answers are made without printing") {
  const std::regex prints("\\b(fmt::print|f?puts|f?printf)\\(|\\bstd::(cout|cerr)\\b");
  for (const char* floor : {"hw", "models", "sim", "calibrate", "cli"}) {
    for (const std::string& file : files_under(floor, {".hpp", ".cpp", ".cu", ".cuh"})) {
      if (may_print(file)) continue;
      for (const std::string& line : lines_of(file)) {
        CHECK_MESSAGE(!std::regex_search(line, prints), file, " prints: ", line);
      }
    }
  }
}

}  // namespace
}  // namespace prequel
