#include "cli/text/table.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

TextTable three_columns() {
  TextTable table({"stage", "weights", "peak"});
  table.add({"0", "1.5", "40.25"});
  return table;
}

TEST_CASE("a table that fits stands in one block, numbers to the right") {
  CHECK(three_columns().text() ==
        "  stage  weights   peak\n"
        "  0          1.5  40.25\n");
  CHECK(three_columns().text(23) == three_columns().text());
}

TEST_CASE("columns that do not fit stand below, after the first column again") {
  CHECK(three_columns().text(22) ==
        "  stage  weights\n"
        "  0          1.5\n"
        "  stage   peak\n"
        "  0      40.25\n");
}

TEST_CASE("a line that is narrower than one column is no reason to lose it") {
  CHECK(three_columns().text(5) == three_columns().text(22));
}

TEST_CASE("colours and accents take no room") {
  CHECK(display_width("\033[32mfits\033[0m") == 4);
  CHECK(display_width("±5 µs") == 5);
}

}  // namespace
}  // namespace prequel
