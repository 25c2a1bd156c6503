#include "calibrate/statistics/least_squares.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "hw/base/parallel.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The problem in logarithms of the parameters, holding terms included.
class LogProblem {
 public:
  LogProblem(const std::vector<Parameter>& parameters, std::size_t count,
             const Residuals& residuals, double loss_scale)
      : parameters_(parameters), count_(count), residuals_(residuals), scale_(loss_scale) {}

  /// Residuals of measurements, which come before the terms that hold parameters.
  [[nodiscard]] Index measured() const { return static_cast<Index>(count_); }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] Index size() const { return static_cast<Index>(parameters_.size()); }
  [[nodiscard]] double low(Index i) const { return std::log(parameter(i).min); }
  [[nodiscard]] double high(Index i) const { return std::log(parameter(i).max); }

  [[nodiscard]] VectorXd clamped(VectorXd x) const {
    for (Index i = 0; i < size(); ++i) x[i] = std::clamp(x[i], low(i), high(i));
    return x;
  }

  [[nodiscard]] VectorXd residuals(const VectorXd& x) const {
    std::vector<double> values(parameters_.size());
    for (Index i = 0; i < size(); ++i) values[static_cast<std::size_t>(i)] = std::exp(x[i]);
    std::vector<double> measured(count_);
    residuals_(values, measured);
    VectorXd all(static_cast<Index>(count_) + size());
    for (std::size_t i = 0; i < count_; ++i) all[static_cast<Index>(i)] = measured[i];
    for (Index i = 0; i < size(); ++i) {
      all[static_cast<Index>(count_) + i] =
          parameter(i).hold * (x[i] - std::log(parameter(i).start));
    }
    return all;
  }

  /// soft-L1: scale²·2·(sqrt(1 + (r/scale)²) - 1), summed.
  [[nodiscard]] double loss(const VectorXd& r) const {
    double sum = 0.0;
    for (const double one : r) {
      sum += 2.0 * scale_ * scale_ * (std::hypot(1.0, one / scale_) - 1.0);
    }
    return sum;
  }

  /// Weights that make a least-squares step a step on the loss.
  [[nodiscard]] VectorXd weights(const VectorXd& r) const {
    return r.unaryExpr([this](double one) { return 1.0 / std::hypot(1.0, one / scale_); });
  }

  /// Forward differences, wide enough to see past the corners of the minimum over tiles.
  [[nodiscard]] MatrixXd jacobian(const VectorXd& x, const VectorXd& r) const {
    constexpr double kStep = 1e-3;
    MatrixXd jacobian(r.size(), size());
    for (Index i = 0; i < size(); ++i) {
      VectorXd moved = x;
      const double step = x[i] + kStep > high(i) ? -kStep : kStep;
      moved[i] += step;
      jacobian.col(i) = (residuals(moved) - r) / step;
    }
    return jacobian;
  }

 private:
  [[nodiscard]] const Parameter& parameter(Index i) const {
    return parameters_[static_cast<std::size_t>(i)];
  }

  const std::vector<Parameter>& parameters_;
  std::size_t count_;
  const Residuals& residuals_;
  double scale_;
};

struct Minimum {
  VectorXd x;
  double loss{std::numeric_limits<double>::max()};
};

Minimum descend(const LogProblem& problem, VectorXd x, int iterations) {
  x = problem.clamped(std::move(x));
  VectorXd r = problem.residuals(x);
  Minimum best{x, problem.loss(r)};
  double damping = 1e-2;
  for (int iteration = 0; iteration < iterations && damping < 1e8; ++iteration) {
    const MatrixXd jacobian = problem.jacobian(x, r);
    const VectorXd weights = problem.weights(r);
    const MatrixXd normal = jacobian.transpose() * weights.asDiagonal() * jacobian;
    const VectorXd gradient = jacobian.transpose() * weights.cwiseProduct(r);
    bool improved = false;
    while (!improved && damping < 1e8) {
      MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-9).matrix();
      const VectorXd next = problem.clamped(x - damped.ldlt().solve(gradient));
      const VectorXd next_r = problem.residuals(next);
      const double next_loss = problem.loss(next_r);
      improved = next_loss < best.loss;
      damping = improved ? std::max(damping / 5.0, 1e-7) : damping * 4.0;
      if (!improved) continue;
      const bool converged = best.loss - next_loss < 1e-7 * best.loss;
      best = {next, next_loss};
      x = next;
      r = next_r;
      if (converged) return best;
    }
  }
  return best;
}

std::vector<VectorXd> start_points(const LogProblem& problem,
                                   const std::vector<Parameter>& parameters, int starts) {
  VectorXd given(problem.size());
  for (Index i = 0; i < given.size(); ++i) {
    given[i] = std::log(parameters[static_cast<std::size_t>(i)].start);
  }
  std::vector<VectorXd> points{given};
  std::mt19937_64 random(20240501);
  std::normal_distribution<double> spread(0.0, 0.4);
  for (int start = 1; start < starts; ++start) {
    VectorXd point = given;
    for (Index i = 0; i < point.size(); ++i) {
      const double held = parameters[static_cast<std::size_t>(i)].hold;
      point[i] += spread(random) / (1.0 + held);
    }
    points.push_back(point);
  }
  return points;
}

/// Standard deviations of the logarithms, from the curvature and the residuals that there are
/// (sandwich estimate, so that the weights do not flatter them), and what cannot be told apart.
void judge(const LogProblem& problem, const Minimum& best, LeastSquaresFit& fit) {
  const VectorXd r = problem.residuals(best.x);
  const MatrixXd jacobian = problem.jacobian(best.x, r);
  const VectorXd weights = problem.weights(r);
  // The loss bends less than its weights say: its second derivative is their cube.
  const MatrixXd normal =
      jacobian.transpose() * weights.array().cube().matrix().asDiagonal() * jacobian;
  const MatrixXd curvature =
      Eigen::CompleteOrthogonalDecomposition<MatrixXd>(normal).pseudoInverse();
  VectorXd scores = weights.cwiseProduct(r).cwiseAbs2();
  // A parameter that is held counts as known by its start no better than measurements are: who is
  // held alone would be certain otherwise.
  const Index first_held = problem.measured();
  const double usual = std::max(problem.scale() * problem.scale(),
                                first_held > 0 ? scores.head(first_held).mean() : 0.0);
  for (Index i = first_held; i < scores.size(); ++i) scores[i] = std::max(scores[i], usual);
  if (first_held <= best.x.size()) {
    // Points do not scatter where constants are as many: each is known as a measurement usually is.
    scores.head(first_held).array() = usual;
  } else {
    // Points that pull the fit towards themselves leave small residuals (MacKinnon and White, "Some
    // heteroskedasticity-consistent covariance matrix estimators", 1985: HC3).
    constexpr double kMostPull = 0.9;
    const MatrixXd moved = jacobian * curvature;
    for (Index i = 0; i < first_held; ++i) {
      const double pull = std::pow(weights[i], 3) * moved.row(i).dot(jacobian.row(i));
      scores[i] /= std::pow(1.0 - std::clamp(pull, 0.0, kMostPull), 2);
    }
  }
  const MatrixXd covariance =
      curvature * (jacobian.transpose() * scores.asDiagonal() * jacobian) * curvature;

  const double largest = normal.diagonal().maxCoeff();
  const auto silent = [&](Index i) { return normal(i, i) <= 1e-9 * largest; };
  for (Index i = 0; i < best.x.size(); ++i) {
    FittedConstant& constant = fit.constants[static_cast<std::size_t>(i)];
    constant.relative_error = std::sqrt(std::max(covariance(i, i), 0.0));
    if (silent(i)) {
      constant.relative_error = std::numeric_limits<double>::infinity();
      fit.warnings.push_back(fmt::format("the data say nothing about {}", constant.name));
    } else if (constant.at_bound) {
      fit.warnings.push_back(fmt::format("{} is at the bound of what is allowed, {:.4g}",
                                         constant.name, constant.value));
    }
    for (Index j = 0; j < i; ++j) {
      if (silent(i) || silent(j)) continue;
      const double both = std::sqrt(curvature(i, i) * curvature(j, j));
      const double correlation = both > 0.0 ? curvature(i, j) / both : 0.0;
      if (std::abs(correlation) > 0.97) {
        fit.warnings.push_back(fmt::format(
            "the data can hardly tell {} and {} apart (correlation {:+.3f})",
            fit.constants[static_cast<std::size_t>(j)].name, constant.name, correlation));
      }
    }
  }
}

}  // namespace

Interval80 interval80(const FittedConstant& constant) {
  constexpr double kNormal80 = 1.281552;
  const double factor = std::exp(kNormal80 * constant.relative_error);
  return {constant.value / factor, constant.value * factor};
}

std::vector<double> LeastSquaresFit::values() const {
  std::vector<double> values;
  for (const FittedConstant& constant : constants) values.push_back(constant.value);
  return values;
}

LeastSquaresFit least_squares(const std::vector<Parameter>& parameters, std::size_t count,
                              const Residuals& residuals, const LeastSquaresOptions& options) {
  const LogProblem problem(parameters, count, residuals, options.loss_scale);
  const std::vector<VectorXd> starts = start_points(problem, parameters, options.starts);
  std::vector<Minimum> minima(starts.size());
  parallel_for(starts.size(),
               [&](std::size_t i) { minima[i] = descend(problem, starts[i], options.iterations); });
  const Minimum& best =
      *std::min_element(minima.begin(), minima.end(),
                        [](const Minimum& a, const Minimum& b) { return a.loss < b.loss; });

  LeastSquaresFit fit;
  fit.loss = best.loss;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double value = std::exp(best.x[static_cast<Index>(i)]);
    const bool at_bound =
        value <= parameters[i].min * 1.0001 || value >= parameters[i].max * 0.9999;
    fit.constants.push_back({parameters[i].name, value, 0.0, at_bound});
  }
  judge(problem, best, fit);
  return fit;
}

}  // namespace prequel
