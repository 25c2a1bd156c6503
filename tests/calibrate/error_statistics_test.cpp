#include "calibrate/statistics/error_statistics.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

TEST_CASE("mean, median and 90th percentile are of absolute errors, the bias keeps its sign") {
  const ErrorStatistics errors = error_statistics({-0.4, 0.1, 0.2, 0.3});
  CHECK(errors.n == 4);
  CHECK(errors.mape == doctest::Approx(0.25));
  CHECK(errors.median == doctest::Approx(0.25));
  CHECK(errors.p90 == doctest::Approx(0.37));
  CHECK(errors.max == doctest::Approx(0.4));
  CHECK(errors.bias == doctest::Approx(0.05));
}

TEST_CASE("no errors are summed up as zeros") {
  CHECK(error_statistics({}).n == 0);
  CHECK(error_statistics({}).mape == 0.0);
}

TEST_CASE("quantiles lie between the neighbours") {
  CHECK(quantile({3.0, 1.0, 2.0}, 0.5) == doctest::Approx(2.0));
  CHECK(quantile({1.0, 2.0}, 0.25) == doctest::Approx(1.25));
  CHECK(quantile({7.0}, 0.9) == doctest::Approx(7.0));
}

}  // namespace
}  // namespace prequel
