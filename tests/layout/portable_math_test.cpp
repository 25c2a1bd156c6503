#include <doctest/doctest.h>

#include <regex>
#include <string>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

TEST_CASE("what predicts calls libm by portable_math.hpp alone, whose results no machine changes") {
  const std::regex libm(
      "std::(a?cosh?|a?sinh?|a?tanh?|atan2|cbrt|erfc?|exp2?|expm1|hypot|[lt]gamma|log|log10|log1p|"
      "log2|pow)\\(");
  for (const char* floor : {"hw", "models", "sim", "cli"}) {
    for (const std::string& file : files_under(floor, {".hpp", ".cpp"})) {
      if (file == "hw/base/portable_math.hpp") continue;
      for (const std::string& line : lines_of(file)) {
        CHECK_MESSAGE(!std::regex_search(line, libm), file, ": ", line);
      }
    }
  }
}

}  // namespace
}  // namespace prequel
