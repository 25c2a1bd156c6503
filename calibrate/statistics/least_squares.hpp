#pragma once

/// Robust non-linear least squares of positive constants with bounds.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace prequel {

/// A positive constant to be found; the search is in its logarithm.
struct Parameter {
  std::string name;
  double start{};
  double min{};
  double max{};
  /// Weight of staying near `start`, as a residual weight·log(value / start): for constants that
  /// few measurements tell about.
  double hold{0.0};
};

/// Fills the residuals for the values of the parameters, in their order. Called from several
/// threads.
using Residuals =
    std::function<void(const std::vector<double>& values, std::vector<double>& residuals)>;

struct LeastSquaresOptions {
  double loss_scale{0.05};  ///< residuals much above it count with their size, not its square
  int starts{6};            ///< the given start and random ones around it (fixed seed)
  int iterations{60};
};

struct FittedConstant {
  std::string name;
  double value{};
  /// One standard deviation of the logarithm, from the curvature of the loss; of a constant that
  /// only its hold tells, as if its start had been measured.
  double relative_error{};
  bool at_bound{false};
};

/// Where a constant lies 8 times in 10.
struct Interval80 {
  double low{};
  double high{};
};
/// By its error in the logarithm, as a normal distribution has it; from 0 to infinity for a
/// constant that the data say nothing about.
Interval80 interval80(const FittedConstant& constant);

struct LeastSquaresFit {
  std::vector<FittedConstant> constants;
  double loss{};
  /// Doubts that the data leave, in words: a constant that nothing depends on, two constants that
  /// only occur together, a constant at its bound.
  std::vector<std::string> warnings;

  [[nodiscard]] std::vector<double> values() const;
};

/// Levenberg-Marquardt on the soft-L1 loss, from several starts. `count` is the number of
/// residuals.
LeastSquaresFit least_squares(const std::vector<Parameter>& parameters, std::size_t count,
                              const Residuals& residuals, const LeastSquaresOptions& options);

}  // namespace prequel
