#pragma once

/// Parts that the fits of calibrate/fit.hpp share.

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calibrate/fit/fit.hpp"

namespace prequel {

/// Points of a table that a fit looks at.
using Points = std::vector<const Measurement*>;

/// Returns the points of one kind that `keep` takes.
template <class Kind, class Keep>
Points points_of(const std::vector<Measurement>& points, const Keep& keep) {
  Points chosen;
  for (const Measurement& point : points) {
    const auto* what = std::get_if<Kind>(&point.what);
    if (what && keep(*what)) chosen.push_back(&point);
  }
  return chosen;
}

/// The points of one fit.
struct FitSample {
  std::vector<Measurement> points;
  std::vector<int> fold;  ///< of each point, below `folds`
  int folds{1};
};

/// Splits by shape: all points with the same key go into the same fold (fixed seed). With fewer
/// than four keys there is one fold.
FitSample split_sample(const Points& points,
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

/// Returns the note on a fit from `points` where all constants take `needed`: "3 of 30 points
/// needed for all constants: …".
std::string rate_alone(std::size_t points, std::size_t needed);

/// The values of a report's constants, in their order.
std::vector<double> values_of(const FitReport& report);

/// A constant that a fit looks for, and its place in the model.
template <class Model>
struct FreeConstant {
  Parameter parameter;
  std::function<void(Model& model, double value)> set;

  FreeConstant(Parameter search, std::function<void(Model&, double)> setter)
      : parameter(std::move(search)), set(std::move(setter)) {}
  template <class Value>
  FreeConstant(Parameter search, Value Model::*member)
      : FreeConstant(std::move(search),
                     [member](Model& model, double value) { model.*member = Value{value}; }) {}
};

/// As `fit_sample`, for the constants `free` of a model, whose others stay; `prices(model)` is the
/// predictor by a model. With fewer than `needed` points the first constant alone is free, which a
/// warning says.
template <class Model, class Prices>
FitReport fit_model(const std::string& what, const FitSample& sample,
                    std::vector<FreeConstant<Model>> free, const Prices& prices,
                    const FitOptions& options, Model& model, std::size_t needed = 0) {
  const bool few = sample.points.size() < needed;
  if (few) free.erase(free.begin() + 1, free.end());
  std::vector<Parameter> parameters;
  for (const auto& one : free) parameters.push_back(one.parameter);
  const auto with = [&free, start = model](const std::vector<double>& values) {
    Model tried = start;
    for (std::size_t i = 0; i < free.size(); ++i) free[i].set(tried, values[i]);
    return tried;
  };
  FitReport report = fit_sample(
      what, sample, parameters,
      [&](const std::vector<double>& values) -> Predictor { return prices(with(values)); },
      options);
  if (few) report.warnings.push_back(rate_alone(sample.points.size(), needed));
  model = with(values_of(report));
  return report;
}

/// Returns the key by which products are held out: n and k, the shape of the weights of a forward
/// pass.
std::string weight_shape(const Gemm& gemm);
/// Returns the key by which collectives are held out: the bytes of the message.
std::string message_size(const Measurement& point);

/// The mean of `stated_error` over all points of the reports; 0 where there are none.
double mean_stated_error(const std::vector<FitReport>& reports);

/// The error that a device file states: that of the held-out shapes where there are any.
double stated_error(const FitReport& report);

}  // namespace prequel
