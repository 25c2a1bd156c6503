#include "calibrate/readings/measurement_file.hpp"

#include <doctest/doctest.h>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

TEST_CASE("a star stands for any text") {
  CHECK(matches("vidur", "vidur"));
  CHECK(matches("simumax(A100-PCIe)", "simumax*"));
  CHECK(matches("simumax(A100-PCIe)", "*A100*"));
  CHECK(matches("", "*"));
  CHECK_FALSE(matches("vidur2", "vidur"));
  CHECK_FALSE(matches("vidur", "*x*"));
}

TEST_CASE("all filters must hold, != turns one round") {
  const Fields row{{"source", "vidur"}, {"nodes", "1"}};
  CHECK(meets(row, {parse_row_filter("source=v*"), parse_row_filter("nodes!=2")}));
  CHECK_FALSE(meets(row, {parse_row_filter("source=v*"), parse_row_filter("nodes=2")}));
  CHECK(meets(row, {parse_row_filter("fabric=")}));
}

TEST_CASE("a filter without a column is refused") {
  CHECK(error_text([] { static_cast<void>(parse_row_filter("vidur")); }) ==
        "where: expected COLUMN=VALUE or COLUMN!=VALUE (with * for any text), got \"vidur\"");
}

}  // namespace
}  // namespace prequel
