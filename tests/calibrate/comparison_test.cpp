#include "calibrate/fit/comparison.hpp"

#include <doctest/doctest.h>

#include <string>

namespace prequel {
namespace {

Measurement copy_of(double bytes, double time, double spread = 0.01) {
  return read_measurement({{"op", "copy"},
                           {"bytes", std::to_string(bytes)},
                           {"time_s", std::to_string(time)},
                           {"p10_s", std::to_string(time * (1 - spread))},
                           {"p90_s", std::to_string(time * (1 + spread))}});
}

TEST_CASE("a file compared with itself has not changed") {
  const std::vector<Measurement> points{copy_of(1e6, 1), copy_of(2e6, 2)};
  const Comparison same = compare(points, points);
  CHECK(same.points.size() == 2);
  CHECK(same.median() == 1.0);
  CHECK(same.groups.front().beyond_noise == 0);
}

TEST_CASE("the largest change stands first, whichever way it goes") {
  const Comparison changed = compare({copy_of(1e6, 1), copy_of(2e6, 2), copy_of(3e6, 3)},
                                     {copy_of(1e6, 1.1), copy_of(2e6, 1), copy_of(3e6, 3)});
  CHECK(changed.points.front().ratio() == doctest::Approx(0.5));
  CHECK(changed.points.front().beyond_noise);
  CHECK(changed.groups.front().median == doctest::Approx(1.0));
  CHECK(changed.groups.front().beyond_noise == 2);
}

TEST_CASE("points that only one file has are counted, not compared") {
  const Comparison partly =
      compare({copy_of(1e6, 1), copy_of(2e6, 2)}, {copy_of(2e6, 2), copy_of(4e6, 3)});
  CHECK(partly.points.size() == 1);
  CHECK(partly.only_reference == 1);
  CHECK(partly.only_other == 1);
}

TEST_CASE("a change within the noise is told apart") {
  const Comparison noisy = compare({copy_of(1e6, 1, 0.2)}, {copy_of(1e6, 1.1, 0.2)});
  CHECK_FALSE(noisy.points.front().beyond_noise);
}

}  // namespace
}  // namespace prequel
