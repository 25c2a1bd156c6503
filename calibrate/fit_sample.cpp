#include "calibrate/fit_sample.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace prequel {
namespace {

constexpr std::size_t kFewestShapes = 4;

std::string environment(const Measurement& point, const FitOptions& options) {
  const auto found = point.fields.find(options.scale_per);
  return found == point.fields.end() ? std::string() : found->second;
}

ErrorStatistics errors_of(const std::vector<Measurement>& points, const Predictor& predictor,
                          const FitOptions& options) {
  if (points.empty()) return {};
  const bool scaled = std::all_of(points.begin(), points.end(), [&](const Measurement& point) {
    return point.fields.count(options.scale_per) == 1;
  });
  return check(points, predictor, {"", scaled ? options.scale_per : ""}).groups.front().errors;
}

/// Each once, in order.
std::string sources_of(const std::vector<Measurement>& points) {
  std::set<std::string> sources;
  for (const Measurement& point : points) {
    const auto found = point.fields.find("source");
    sources.insert(found == point.fields.end() ? "own measurements" : found->second);
  }
  return fmt::format("{}", fmt::join(sources, ", "));
}

/// One scale per environment is fitted too; their geometric mean is 1.
LeastSquaresFit fit_points(const std::vector<Measurement>& points,
                           std::vector<Parameter> parameters, const ModelOf& model_of,
                           const FitOptions& options) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> environments;
  for (const Measurement& point : points) {
    environments.push_back(known.emplace(environment(point, options), known.size()).first->second);
  }
  const std::size_t constants = parameters.size();
  for (std::size_t i = 1; i < known.size(); ++i) {
    parameters.push_back({fmt::format("scale of environment {}", i), 1.0, 0.5, 2.0});
  }
  const auto residuals = [&](const std::vector<double>& values, std::vector<double>& out) {
    std::vector<double> log_scales(known.size(), 0.0);
    for (std::size_t i = 1; i < known.size(); ++i) {
      log_scales[i] = std::log(values[constants + i - 1]);
      log_scales[0] -= log_scales[i];
    }
    const Predictor model = model_of(values);
    for (std::size_t i = 0; i < points.size(); ++i) {
      out[i] = std::log(model(points[i]) / points[i].time) + log_scales[environments[i]];
    }
  };
  return least_squares(parameters, points.size(), residuals, {});
}

}  // namespace

FitSample split_sample(const std::vector<const Measurement*>& points,
                       const std::function<std::string(const Measurement&)>& shape,
                       const FitOptions& options) {
  std::set<std::string> sorted;
  for (const Measurement* point : points) sorted.insert(shape(*point));
  std::vector<std::string> shapes(sorted.begin(), sorted.end());
  std::mt19937_64 random(7);
  for (std::size_t i = shapes.size(); i > 1; --i) std::swap(shapes[i - 1], shapes[random() % i]);
  auto out = static_cast<std::size_t>(options.hold_out * static_cast<double>(shapes.size()));
  if (shapes.size() < kFewestShapes) out = 0;
  const std::set<std::string> held_out(shapes.begin(),
                                       shapes.begin() + static_cast<std::ptrdiff_t>(out));
  FitSample sample;
  for (const Measurement* point : points) {
    (held_out.count(shape(*point)) == 1 ? sample.held_out : sample.fitted).push_back(*point);
  }
  return sample;
}

FitReport fit_sample(const std::string& what, const FitSample& sample,
                     const std::vector<Parameter>& parameters, const ModelOf& model_of,
                     const FitOptions& options) {
  FitReport report;
  report.what = what;
  if (!sample.held_out.empty()) {
    const LeastSquaresFit part = fit_points(sample.fitted, parameters, model_of, options);
    report.held_out_errors = errors_of(sample.held_out, model_of(part.values()), options);
  }
  std::vector<Measurement> all = sample.fitted;
  all.insert(all.end(), sample.held_out.begin(), sample.held_out.end());
  const LeastSquaresFit whole = fit_points(all, parameters, model_of, options);
  report.sources = sources_of(all);
  report.errors = errors_of(all, model_of(whole.values()), options);
  report.constants = whole.constants;
  report.constants.resize(parameters.size());
  report.warnings = whole.warnings;
  return report;
}

double stated_error(const FitReport& report) {
  return report.held_out_errors.n > 0 ? report.held_out_errors.mape : report.errors.mape;
}

std::vector<double> values_of(const FitReport& report) {
  std::vector<double> values;
  for (const FittedConstant& constant : report.constants) values.push_back(constant.value);
  return values;
}

}  // namespace prequel
