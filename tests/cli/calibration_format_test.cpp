#include "cli/calibrate/calibration_format.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace prequel {
namespace {

Check one_group() {
  Check check;
  check.groups = {{"all", {3, 0.05, 0.04, 0.08, 0.1, -0.02}, 1.25}};
  check.scales = {{"lab", 1.25}};
  return check;
}

TEST_CASE("a check is a table with the scales that were taken out") {
  CHECK(check_text(one_group()) ==
        "Errors of prices against measurements (predicted / measured - 1)\n"
        "  group  n  MAPE %  median  P90   max  bias  scale\n"
        "  all    3     5.0     4.0  8.0  10.0  -2.0  1.250\n"
        "\n"
        "  environment  scale taken out\n"
        "  lab                    1.250\n");
}

TEST_CASE("a check as JSON has the fields that scripts read, as fractions") {
  CHECK(check_json(one_group()) == R"({
  "schema": "prequel/check/1",
  "groups": [
    {
      "group": "all",
      "n": 3,
      "mape": 0.05,
      "median": 0.04,
      "p90": 0.08,
      "max": 0.1,
      "bias": -0.02,
      "scale": 1.25
    }
  ],
  "scales": [
    {
      "environment": "lab",
      "scale": 1.25
    }
  ],
  "not_predicted": []
}
)");
}

TEST_CASE("a check as CSV is one row a group, names quoted where they must be") {
  Check check = one_group();
  check.groups[0].group = "a,b";
  CHECK(check_csv(check) ==
        "group,n,mape,median,p90,max,bias,scale\n\"a,b\",3,0.05,0.04,0.08,0.1,-0.02,1.25\n");
}

TEST_CASE("a fit names errors, held-out errors and each constant with its deviation") {
  FitReport report;
  report.what = "ring";
  report.errors = {20, 0.06, 0.05, 0.1, 0.2, 0.0};
  report.held_out_errors = {10, 0.07, 0.06, 0.15, 0.3, 0.0};
  report.constants = {{"latency_s", 8e-6, 0.02, false}};
  CHECK(fit_text({report}) ==
        "Errors of the fits; held out: shapes that a fit did without\n"
        "  fitted  points  MAPE %   P90  held out  MAPE %   P90\n"
        "  ring        20     6.0  10.0        10     7.0  15.0\n"
        "\n"
        "Constants (SI units) and their standard deviations\n"
        "  constant             value           80 % interval  +- %\n"
        "  ring      latency_s  8e-06  7.798e-06 to 8.208e-06   2.0\n");
}

TEST_CASE("a constant that the data say nothing about has no error in JSON") {
  FitReport report;
  report.constants = {{"tail", 0.5, std::numeric_limits<double>::infinity(), false}};
  CHECK(fit_json({report}).find("relative_error") == std::string::npos);
}

}  // namespace
}  // namespace prequel
