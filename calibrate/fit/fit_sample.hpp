#pragma once

/// Parts that the fits of calibrate/fit.hpp share.

#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit/fit.hpp"

namespace prequel {

/// The points of one fit.
struct FitSample {
  std::vector<Measurement> points;
  std::vector<int> fold;  ///< of each point, below `folds`
  int folds{1};
};

/// Splits by shape: all points with the same key go into the same fold (fixed seed). With fewer
/// than four keys there is one fold.
FitSample split_sample(const std::vector<const Measurement*>& points,
                       const std::function<std::string(const Measurement&)>& shape,
                       const FitOptions& options);

/// A model with given values of its parameters.
using ModelOf = std::function<Predictor(const std::vector<double>& values)>;

/// Fits `parameters` so that the model meets the points, with one scale per environment (their
/// geometric mean is 1), and reports the errors with these scales taken out where there are
/// several. For the held-out error each fold is predicted by a fit to the others; the constants are
/// those of a fit to all.
FitReport fit_sample(const std::string& what, const FitSample& sample,
                     const std::vector<Parameter>& parameters, const ModelOf& model_of,
                     const FitOptions& options);

/// Returns the key by which products are held out: n and k, the shape of the weights of a forward
/// pass.
std::string weight_shape(const Gemm& gemm);
/// Returns the key by which collectives are held out: the bytes of the message.
std::string message_size(const Measurement& point);

/// The mean of `stated_error` over all points of the reports; 0 where there are none.
double mean_stated_error(const std::vector<FitReport>& reports);

/// The error that a device file states: that of the held-out shapes where there are any.
double stated_error(const FitReport& report);

/// Returns the note on a fit from `points` where all constants take `needed`: "3 of 30 points
/// needed for all constants: …".
std::string rate_alone(std::size_t points, std::size_t needed);

/// The values of a report's constants, in their order.
std::vector<double> values_of(const FitReport& report);

}  // namespace prequel
