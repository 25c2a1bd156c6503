#include "calibrate/statistics/posterior.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include <Eigen/LU>

using namespace prequel;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

using Kind = Observation::Kind;

/// The noise is as good as known.
const NoisePrior kKnownNoise{{1.0, 0.03, 0.01}};
const NoisePrior kUnknownNoise{{0.8, 0.035, 0.4}, {0.2, 0.105, 0.45}};

Prior prior_of(const VectorXd& sd, const NoisePrior& noise) {
  return {sd.cwiseAbs2().asDiagonal(), noise};
}

LogQuantities linear(const MatrixXd& slopes) {
  return [slopes](const VectorXd& u) -> VectorXd { return slopes * u; };
}

Posterior fit(const Prior& prior, const std::vector<Observation>& seen,
              const LogQuantities& quantities) {
  const VectorXd sd = prior.covariance.diagonal().cwiseSqrt();
  return posterior(prior, seen, quantities,
                   linear_model(quantities, VectorXd::Zero(sd.size()), sd));
}

std::vector<Observation> values(const std::vector<double>& logs) {
  std::vector<Observation> seen;
  for (const double one : logs) seen.push_back({Kind::value, one});
  return seen;
}

}  // namespace

TEST_CASE("many observations find the constants that made them") {
  const VectorXd truth = VectorXd{{0.4, -0.3}};
  MatrixXd slopes(40, 2);
  for (int i = 0; i < 40; ++i) slopes.row(i) << 0.2 + 0.02 * i, 1.0 - 0.02 * i;
  std::vector<Observation> seen;
  for (int i = 0; i < 40; ++i) {
    const double scatter = 0.01 * std::sin(7.0 * i);
    seen.push_back({Kind::value, slopes.row(i).dot(truth) + scatter});
  }
  const Posterior found = fit(prior_of(VectorXd{{0.5, 0.8}}, kUnknownNoise), seen, linear(slopes));
  CHECK(found.constants[0] == doctest::Approx(0.4).epsilon(0.03));
  CHECK(found.constants[1] == doctest::Approx(-0.3).epsilon(0.03));
  CHECK(found.noise < 0.02);
  CHECK(found.covariance(0, 0) < 0.01 * 0.5 * 0.5);
}

TEST_CASE("one observation is shared by the constants as their prior variances are") {
  const MatrixXd slopes = MatrixXd::Ones(1, 2);
  const Posterior found =
      fit(prior_of(VectorXd{{0.1, 0.2}}, kKnownNoise), values({0.1}), linear(slopes));
  CHECK(found.constants[1] == doctest::Approx(4.0 * found.constants[0]).epsilon(1e-3));
  // A little is left to scatter.
  CHECK(found.constants.sum() > 0.08);
  CHECK(found.constants.sum() < 0.1);
}

TEST_CASE("without observations, and for constants that nothing depends on, the prior stays") {
  const Prior prior = prior_of(VectorXd{{0.5, 0.8}}, kUnknownNoise);
  const Posterior nothing = fit(prior, {}, linear(MatrixXd(0, 2)));
  CHECK(nothing.constants.isZero());
  CHECK(nothing.covariance.isApprox(prior.covariance, 1e-9));
  MatrixXd slopes(3, 2);
  slopes << 1, 0, 1, 0, 1, 0;
  const Posterior half = fit(prior, values({0.3, 0.3, 0.3}), linear(slopes));
  CHECK(half.constants[1] == doctest::Approx(0.0));
  CHECK(half.covariance(1, 1) == doctest::Approx(0.64));
}

TEST_CASE("an outlier hardly moves what the others say") {
  const MatrixXd slopes = MatrixXd::Ones(6, 1);
  const Prior prior = prior_of(VectorXd{{0.5}}, kUnknownNoise);
  const Posterior found = fit(prior, values({0.20, 0.21, 0.19, 0.20, 0.21, 1.2}), linear(slopes));
  CHECK(found.constants[0] == doctest::Approx(0.2).epsilon(0.1));
}

TEST_CASE("more observations narrow, contradicting ones raise the scatter") {
  const Prior prior = prior_of(VectorXd{{0.5}}, kUnknownNoise);
  double last = 0.25;
  for (const int n : {1, 2, 4, 8}) {
    const Posterior found =
        fit(prior, values(std::vector<double>(n, 0.2)), linear(MatrixXd::Ones(n, 1)));
    CHECK(found.covariance(0, 0) < last);
    last = found.covariance(0, 0);
  }
  const LogQuantities two = linear(MatrixXd::Ones(2, 1));
  const Posterior agree = fit(prior, values({0.2, 0.2}), two);
  const Posterior differ = fit(prior, values({-0.2, 0.6}), two);
  CHECK(differ.noise > 1.5 * agree.noise);
  CHECK(std::isfinite(differ.covariance(0, 0)));
}

TEST_CASE("verdicts say on which side a quantity lies, and how surely") {
  const Prior prior = prior_of(VectorXd{{0.5}}, kUnknownNoise);
  const LogQuantities one = [](const VectorXd& u) -> VectorXd {
    return VectorXd::Constant(1, 0.3 + u[0]);
  };
  const Posterior ran = fit(prior, {{Kind::at_most, 0.0}}, one);
  CHECK(ran.constants[0] < -0.2);
  const Posterior failed = fit(prior, {{Kind::at_least, 0.0}}, one);
  CHECK(failed.constants[0] == doctest::Approx(0.0).scale(1.0).epsilon(0.05));
}

TEST_CASE("quantities that bend are followed") {
  // A part that scales beside one that does not: ln(0.7 + 0.3·e^u).
  const LogQuantities bent = [](const VectorXd& u) -> VectorXd {
    return VectorXd::Constant(4, std::log(0.7 + 0.3 * std::exp(u[0])));
  };
  const double seen = std::log(0.7 + 0.3 * std::exp(1.5));
  const Posterior found =
      fit(prior_of(VectorXd{{2.0}}, kUnknownNoise), values({seen, seen, seen, seen}), bent);
  CHECK(found.constants[0] == doctest::Approx(1.5).epsilon(0.02));
}

TEST_CASE("the evidence prefers the model that explains with less") {
  const Prior prior = prior_of(VectorXd{{0.5}}, kUnknownNoise);
  const LogQuantities right = [](const VectorXd& u) -> VectorXd {
    return VectorXd{{1.0 + u[0], 2.0 + u[0], 3.0 + u[0]}};
  };
  const LogQuantities wrong = [](const VectorXd& u) -> VectorXd {
    return VectorXd{{1.5 + u[0], 2.0 + u[0], 2.5 + u[0]}};
  };
  const auto seen = values({1.1, 2.1, 3.1});
  CHECK(fit(prior, seen, right).log_evidence > fit(prior, seen, wrong).log_evidence + 3);
}
