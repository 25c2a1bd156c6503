#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

TEST_CASE("a rounded number has 31 bits, and is as near as that allows") {
  for (const double value : {1.0 / 3.0, -2.0 / 7.0, 1e-300, 6.02214076e23, 123456789.123456789}) {
    const double rounded = portable::rounded(value);
    CHECK(std::abs(rounded / value - 1.0) <= 0x1p-31);
    int exponent = 0;
    const double fraction = std::frexp(rounded, &exponent);
    CHECK(std::ldexp(fraction, 31) == std::floor(std::ldexp(fraction, 31)));
  }
}

TEST_CASE("numbers that need no more bits stay as they are") {
  for (const double value : {0.0, 1.0, -0.5, 1024.0, 2147483647.0, 1e301}) {
    CHECK(portable::rounded(value) == value);
  }
  CHECK(std::isnan(portable::rounded(std::numeric_limits<double>::quiet_NaN())));
  CHECK(std::isinf(portable::rounded(std::numeric_limits<double>::infinity())));
}

TEST_CASE("an error in the last bit of a library leaves no trace") {
  int traces = 0;
  for (int i = 1; i <= 10000; ++i) {
    const double value = std::exp(0.01 * i);
    const double next = std::nextafter(value, 2.0 * value);
    traces += portable::rounded(value) == portable::rounded(next) ? 0 : 1;
  }
  CHECK(traces == 0);
}

TEST_CASE("norms are what their powers and roots say") {
  CHECK(portable::hypot(3.0, 4.0) == 5.0);
  CHECK(portable::four_norm(2.0, 0.0) == 2.0);
  CHECK(portable::four_norm(3.0, 5.0) == doctest::Approx(std::pow(81.0 + 625.0, 0.25)));
}

}  // namespace
}  // namespace prequel
