#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

/// The name that a line at the left margin defines: a type, a constant or a function.
std::optional<std::string> defined_name(const std::string& line) {
  if (line.empty() || std::isalpha(static_cast<unsigned char>(line[0])) == 0) return {};
  for (const std::string_view other : {"namespace", "using", "template", "extern"}) {
    if (line.starts_with(other)) return {};
  }
  const bool is_type = line.starts_with("struct ") || line.starts_with("class ");
  std::size_t end = line.find_first_of(is_type ? ":{;" : "(=[{;");
  if (end == std::string::npos || line[end] == ';') return {};
  if (line[end] == '(' && line.ends_with(";")) return {};  // a declaration
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  while (begin > 0 && in_name(line[begin - 1])) --begin;
  const bool is_member = begin > 1 && line[begin - 1] == ':';
  if (begin == 0 || begin == end || is_member) return {};  // a macro, or nothing new
  return line.substr(begin, end - begin);
}

TEST_CASE("a line of a test file defines a name, or none") {
  CHECK(defined_name("double seconds(const Plan& plan) {") == "seconds");
  CHECK(defined_name("const std::vector<Base>& bases(const Library& library,") == "bases");
  CHECK(defined_name("struct Base {") == "Base");
  CHECK(defined_name("constexpr double kRate =") == "kRate");
  CHECK_FALSE(defined_name("  return seconds(plan);"));
  CHECK_FALSE(defined_name("TEST_CASE(\"seconds are positive\") {"));
  CHECK_FALSE(defined_name("struct Base;"));
}

/// Test files of a folder are compiled together: of two helpers of one name, a call could take the
/// other file's.
TEST_CASE("helpers of tests have a name of their own in their folder") {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> files_of;
  for (const std::string& file : files_under("tests", {".cpp"})) {
    if (!file.ends_with("_test.cpp")) continue;
    const std::string folder = file.substr(0, file.rfind('/'));
    for (const std::string& line : lines_of(file)) {
      if (const auto name = defined_name(line)) files_of[{folder, *name}].insert(file);
    }
  }
  for (const auto& [place, files] : files_of) {
    CAPTURE(place.first);
    CAPTURE(place.second);
    CHECK(files.size() == 1);
  }
}

}  // namespace
}  // namespace prequel
