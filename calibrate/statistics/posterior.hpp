#pragma once

/// The most probable constants under a normal prior, from observations with a heavy-tailed scatter
/// of unknown scale: no observation is thrown away, and none can pull without limit.

#include <functional>
#include <vector>

#include <Eigen/Core>

#include "sim/answer/uncertainty.hpp"

namespace prequel {

/// The observation of a quantity, as a natural logarithm: a value, or that it lay on one side.
struct Observation {
  enum class Kind : std::uint8_t { value, at_most, at_least };
  Kind kind{};
  double log_value{};
};

/// The logarithm of each observed quantity at constants u.
using LogQuantities = std::function<Eigen::VectorXd(const Eigen::VectorXd& u)>;

/// Quantities as a linear function of the constants around a point.
struct LinearModel {
  Eigen::VectorXd at;      ///< constants
  Eigen::VectorXd values;  ///< of the quantities there
  Eigen::MatrixXd slopes;  ///< a row each quantity, a column each constant
};

/// The model by central differences of 0.35 prior deviations: wide enough to see past kinks.
/// Constants that move no quantity by 0.2 % at 0.7 deviations have slopes of 0.
LinearModel linear_model(const LogQuantities& quantities, const Eigen::VectorXd& at,
                         const Eigen::VectorXd& deviations);

struct Prior {
  Eigen::MatrixXd covariance;  ///< of the constants, around 0
  NoisePrior noise;
};

struct Posterior {
  Eigen::VectorXd constants;
  Eigen::MatrixXd covariance;
  double noise{};         ///< scale of the scatter, a Student t with 4 degrees of freedom
  double log_evidence{};  ///< of the observations; to be compared between models of the same ones
  LinearModel model;      ///< near `constants`
};

/// Laplace's approximation around the most probable constants: reweighted least squares for each
/// scale of a grid, the scale by its marginal posterior, steps on the quantities themselves with
/// Broyden's update of the slopes (Broyden 1965). `start` is the model at any point, e.g. 0; it may
/// be shared by fits to parts of the same observations.
Posterior posterior(const Prior& prior, const std::vector<Observation>& observations,
                    const LogQuantities& quantities, LinearModel start);

}  // namespace prequel
