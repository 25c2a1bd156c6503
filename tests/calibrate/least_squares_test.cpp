#include "calibrate/statistics/least_squares.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace prequel {
namespace {

/// Residuals of t = latency + bytes / rate with `noise` (relative) around latency 5, rate 2.
Residuals line(double noise, std::size_t count) {
  return [noise, count](const std::vector<double>& values, std::vector<double>& residuals) {
    std::mt19937_64 random(9);
    std::normal_distribution<double> spread(0.0, 1.0);
    for (std::size_t i = 0; i < count; ++i) {
      const double bytes = std::pow(1.3, static_cast<double>(i));
      const double measured = (5.0 + bytes / 2.0) * std::exp(noise * spread(random));
      residuals[i] = std::log((values[0] + bytes / values[1]) / measured);
    }
  };
}

const std::vector<Parameter> kLine{{"latency", 1.0, 0.01, 100.0, 0.0},
                                   {"rate", 10.0, 0.01, 100.0, 0.0}};

TEST_CASE("constants of exact data are found") {
  const LeastSquaresFit fit = least_squares(kLine, 30, line(0.0, 30), {});
  CHECK(fit.values()[0] == doctest::Approx(5.0).epsilon(1e-5));
  CHECK(fit.values()[1] == doctest::Approx(2.0).epsilon(1e-5));
  CHECK(fit.warnings.empty());
}

TEST_CASE("constants of noisy data are found within three of their stated errors") {
  const LeastSquaresFit fit = least_squares(kLine, 60, line(0.05, 60), {});
  CHECK(fit.constants[0].relative_error > 0.001);
  CHECK(std::abs(std::log(fit.values()[0] / 5.0)) < 3.0 * fit.constants[0].relative_error);
  CHECK(std::abs(std::log(fit.values()[1] / 2.0)) < 3.0 * fit.constants[1].relative_error);
}

TEST_CASE("a few outliers do not move the constants much") {
  const Residuals clean = line(0.0, 40);
  const Residuals spoilt = [&](const std::vector<double>& values, std::vector<double>& residuals) {
    clean(values, residuals);
    for (const std::size_t i : {7u, 20u, 33u}) residuals[i] -= std::log(3.0);
  };
  const LeastSquaresFit fit = least_squares(kLine, 40, spoilt, {});
  CHECK(fit.values()[0] == doctest::Approx(5.0).epsilon(0.03));
  CHECK(fit.values()[1] == doctest::Approx(2.0).epsilon(0.03));
}

TEST_CASE("two constants that occur only as a product are named") {
  const Residuals product = [](const std::vector<double>& values, std::vector<double>& residuals) {
    for (double& residual : residuals) residual = std::log(values[0] * values[1] / 6.0);
  };
  const std::vector<Parameter> two{{"a", 1.0, 0.01, 100.0, 0.001}, {"b", 1.0, 0.01, 100.0, 0.001}};
  const LeastSquaresFit fit = least_squares(two, 10, product, {});
  CHECK(fit.values()[0] * fit.values()[1] == doctest::Approx(6.0).epsilon(1e-3));
  REQUIRE(fit.warnings.size() == 1);
  CHECK(fit.warnings[0].find("the data can hardly tell a and b apart") == 0);
}

TEST_CASE("a constant that nothing depends on is named") {
  const Residuals first_only = [](const std::vector<double>& values,
                                  std::vector<double>& residuals) {
    for (double& residual : residuals) residual = std::log(values[0] / 3.0);
  };
  const LeastSquaresFit fit = least_squares(kLine, 10, first_only, {});
  CHECK(fit.values()[0] == doctest::Approx(3.0));
  REQUIRE(fit.warnings.size() == 1);
  CHECK(fit.warnings[0] == "the data say nothing about rate");
}

TEST_CASE("a constant stops at its bound, and the fit says so") {
  std::vector<Parameter> bounded = kLine;
  bounded[1].max = 1.5;
  bounded[1].start = 1.0;
  const LeastSquaresFit fit = least_squares(bounded, 30, line(0.0, 30), {});
  CHECK(fit.values()[1] == doctest::Approx(1.5));
  CHECK(fit.constants[1].at_bound);
  REQUIRE(fit.warnings.size() == 1);
  CHECK(fit.warnings[0] == "rate is at the bound of what is allowed, 1.5");
}

TEST_CASE("the same data give the same constants to the last bit") {
  CHECK(least_squares(kLine, 40, line(0.05, 40), {}).values() ==
        least_squares(kLine, 40, line(0.05, 40), {}).values());
}

}  // namespace
}  // namespace prequel
