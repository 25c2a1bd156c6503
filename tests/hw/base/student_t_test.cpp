#include "hw/base/student_t.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace prequel;

TEST_CASE("quantiles of Student's t are the published ones") {
  // Fisher and Yates' table, 4 degrees of freedom.
  CHECK(t4_quantile(0.75) == doctest::Approx(0.7407).epsilon(1e-3));
  CHECK(t4_half_width(0.8) == doctest::Approx(1.5332).epsilon(1e-3));
  CHECK(t4_half_width(0.95) == doctest::Approx(2.7764).epsilon(1e-3));
  CHECK(t4_quantile(0.5) == doctest::Approx(0.0));
}

TEST_CASE("quantile, distribution and density belong together") {
  for (double share = 0.01; share < 1.0; share += 0.01) {
    const double z = t4_quantile(share);
    CHECK(t4_below(z) == doctest::Approx(share).epsilon(1e-6));
    const double slope = (t4_below(z + 1e-5) - t4_below(z - 1e-5)) / 2e-5;
    CHECK(std::exp(log_t4(z)) == doctest::Approx(slope).epsilon(1e-5));
    CHECK(t4_quantile(1 - share) == doctest::Approx(-z).epsilon(1e-9).scale(1.0));
  }
}
