#include "calibrate/statistics/posterior.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "hw/base/student_t.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kVerdictScatter = 0.06;  ///< of a limit itself, beside that of the quantity
constexpr int kScales = 22;
constexpr double kLeastScale = 0.006;
constexpr double kMostScale = 0.25;

double scale(int index) {
  return kLeastScale * std::pow(kMostScale / kLeastScale, index / (kScales - 1.0));
}

/// A term of the log-likelihood, its slope over the quantity, and minus its curvature: as
/// reweighting takes it, which is never negative, and as expected.
struct Term {
  double value{}, slope{}, weight{}, expected{};
};

Term term(const Observation& seen, double quantity, double scatter) {
  if (seen.kind == Observation::Kind::value) {
    const double z = (seen.log_value - quantity) / scatter;
    const double weight = 5.0 / (4.0 + z * z) / (scatter * scatter);
    return {log_t4(z) - std::log(scatter), weight * z * scatter, weight,
            5.0 / 7.0 / (scatter * scatter)};
  }
  const double width = std::hypot(scatter, kVerdictScatter);
  const double side = seen.kind == Observation::Kind::at_most ? 1.0 : -1.0;
  const double z = side * (seen.log_value - quantity) / width;
  const double below = std::clamp(t4_below(z), 1e-12, 1.0 - 1e-12);
  const double density = std::exp(log_t4(z));
  // The curvature is Fisher's: a verdict is a coin with that chance.
  const double weight = density * density / (below * (1.0 - below)) / (width * width);
  return {std::log(below), -side * density / below / width, weight, weight};
}

/// Observations, prior and the linear model that stands for the quantities.
class Problem {
 public:
  Problem(const Prior& prior, const std::vector<Observation>& observations)
      : observations_(observations),
        noise_(prior.noise),
        precision_(prior.covariance.llt().solve(
            MatrixXd::Identity(prior.covariance.rows(), prior.covariance.cols()))),
        half_log_precision_(-log_diagonal(prior.covariance)) {}

  /// The unnormalised log posterior where the quantities are `values`.
  [[nodiscard]] double objective(const VectorXd& u, const VectorXd& values, double scatter) const {
    double sum = -0.5 * u.dot(precision_ * u);
    for (Index i = 0; i < values.size(); ++i) sum += at(i, values[i], scatter).value;
    return sum;
  }

  /// The most probable constants of the linear model, from `u` on.
  [[nodiscard]] VectorXd maximum(const LinearModel& model, VectorXd u, double scatter) const {
    constexpr int kMostSteps = 30;
    double best = objective(u, predicted(model, u), scatter);
    for (int step = 0; step < kMostSteps; ++step) {
      const VectorXd values = predicted(model, u);
      VectorXd slope(values.size()), weight(values.size());
      for (Index i = 0; i < values.size(); ++i) {
        const Term one = at(i, values[i], scatter);
        slope[i] = one.slope;
        weight[i] = one.weight;
      }
      const VectorXd gradient = model.slopes.transpose() * slope - precision_ * u;
      VectorXd move = curvature(model, weight).llt().solve(gradient);
      double next = objective(u + move, predicted(model, u + move), scatter);
      for (int halving = 0; halving < 6 && next < best - 1e-9; ++halving) {
        move *= 0.5;
        next = objective(u + move, predicted(model, u + move), scatter);
      }
      if (next < best) break;
      u += move;
      best = next;
      if (move.cwiseAbs().maxCoeff() < 1e-5) break;
    }
    return u;
  }

  /// The log evidence of one scale times its prior: Laplace's integral over the constants.
  [[nodiscard]] double score(const LinearModel& model, const VectorXd& u, double scatter) const {
    const VectorXd values = predicted(model, u);
    return objective(u, values, scatter) + half_log_precision_ -
           log_diagonal(curvature_at(model, values, scatter, &Term::weight)) +
           log_density(noise_, scatter);
  }

  /// Inverse of the mean of the expected and the observed curvature.
  [[nodiscard]] MatrixXd covariance(const LinearModel& model, const VectorXd& values,
                                    double scatter) const {
    const MatrixXd mean = 0.5 * (curvature_at(model, values, scatter, &Term::weight) +
                                 curvature_at(model, values, scatter, &Term::expected));
    return mean.llt().solve(MatrixXd::Identity(mean.rows(), mean.cols()));
  }

  [[nodiscard]] static VectorXd predicted(const LinearModel& model, const VectorXd& u) {
    return model.values + model.slopes * (u - model.at);
  }

 private:
  [[nodiscard]] Term at(Index i, double quantity, double scatter) const {
    return term(observations_[static_cast<std::size_t>(i)], quantity, scatter);
  }

  [[nodiscard]] MatrixXd curvature(const LinearModel& model, const VectorXd& weight) const {
    return model.slopes.transpose() * weight.asDiagonal() * model.slopes + precision_;
  }

  [[nodiscard]] MatrixXd curvature_at(const LinearModel& model, const VectorXd& values,
                                      double scatter, double Term::*kind) const {
    VectorXd weight(values.size());
    for (Index i = 0; i < values.size(); ++i) weight[i] = at(i, values[i], scatter).*kind;
    return curvature(model, weight);
  }

  /// Half of the logarithm of the determinant.
  static double log_diagonal(const MatrixXd& positive) {
    return positive.llt().matrixL().toDenseMatrix().diagonal().array().log().sum();
  }

  const std::vector<Observation>& observations_;
  const NoisePrior& noise_;
  MatrixXd precision_;
  double half_log_precision_;
};

/// The scale and the constants that a linear model makes most probable.
struct LinearFit {
  VectorXd constants;
  double noise{};
  double log_evidence{};
};

LinearFit fit_linear(const Problem& problem, const LinearModel& model, const VectorXd& from) {
  std::vector<double> scores;
  VectorXd u = from;
  for (int i = kScales - 1; i >= 0; --i) {  // the widest scale is the easiest one
    u = problem.maximum(model, u, scale(i));
    scores.push_back(problem.score(model, u, scale(i)));
  }
  std::reverse(scores.begin(), scores.end());
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0, mean = 0.0;
  for (int i = 0; i < kScales; ++i) {
    const double weight = std::exp(scores[static_cast<std::size_t>(i)] - most);
    sum += weight;
    mean += weight * std::log(scale(i));
  }
  LinearFit fit;
  fit.noise = std::exp(mean / sum);
  fit.log_evidence = most + std::log(sum / kScales);
  fit.constants = problem.maximum(model, from, fit.noise);
  return fit;
}

}  // namespace

LinearModel linear_model(const LogQuantities& quantities, const VectorXd& at,
                         const VectorXd& deviations) {
  constexpr double kStep = 0.35;
  constexpr double kFelt = 0.002;
  LinearModel model{at, quantities(at), {}};
  model.slopes = MatrixXd::Zero(model.values.size(), at.size());
  for (Index i = 0; i < at.size(); ++i) {
    if (deviations[i] <= 0) continue;
    VectorXd moved = at;
    const double step = kStep * deviations[i];
    moved[i] = at[i] + step;
    const VectorXd above = quantities(moved);
    moved[i] = at[i] - step;
    const VectorXd slope = (above - quantities(moved)) / (2.0 * step);
    if (slope.size() > 0 && slope.cwiseAbs().maxCoeff() * 0.7 * deviations[i] >= kFelt) {
      model.slopes.col(i) = slope;
    }
  }
  return model;
}

Posterior posterior(const Prior& prior, const std::vector<Observation>& observations,
                    const LogQuantities& quantities, LinearModel start) {
  constexpr int kMostSteps = 8;
  constexpr int kMostRenewals = 2;
  const Problem problem(prior, observations);
  const VectorXd variance = prior.covariance.diagonal();
  const VectorXd deviation = variance.cwiseSqrt();
  LinearModel model = std::move(start);
  const VectorXd felt =
      (model.slopes.cwiseAbs().colwise().sum().array() > 0).cast<double>().transpose();
  LinearFit fit;
  int renewals = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    fit = fit_linear(problem, model, model.at);
    VectorXd move = fit.constants - model.at;
    move = move.cwiseMax(-2.0 * deviation).cwiseMin(2.0 * deviation);
    const double here = problem.objective(model.at, model.values, fit.noise);
    VectorXd next = model.at + move;
    VectorXd values = quantities(next);
    for (int halving = 0; halving < 4; ++halving) {
      if (problem.objective(next, values, fit.noise) >= here) break;
      move *= 0.5;
      next = model.at + move;
      values = quantities(next);
    }
    const VectorXd missed = values - Problem::predicted(model, next);
    const bool wide = missed.size() > 0 && missed.cwiseAbs().maxCoeff() > 0.6 * fit.noise;
    const VectorXd along = move.cwiseQuotient(variance).cwiseProduct(felt);
    const double length = along.dot(move);
    if (length > 0) model.slopes += missed * along.transpose() / length;
    model.at = next;
    model.values = values;
    if (wide && renewals < kMostRenewals) {
      model = linear_model(quantities, next, deviation.cwiseProduct(felt));
      ++renewals;
      continue;
    }
    if (move.cwiseQuotient(deviation).cwiseAbs().maxCoeff() < 0.03) break;
  }
  Posterior result;
  fit = fit_linear(problem, model, model.at);
  result.constants = model.at;
  result.noise = fit.noise;
  result.log_evidence = fit.log_evidence;
  result.covariance = problem.covariance(model, model.values, fit.noise);
  result.model = std::move(model);
  return result;
}

}  // namespace prequel
