#include "calibrate/fit/fit_sample.hpp"

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

/// Returns the errors of predicted / measured, with one factor an environment taken out where there
/// are several.
ErrorStatistics errors_of(const std::vector<Measurement>& points, std::vector<double> ratios,
                          const FitOptions& options) {
  std::map<std::string, std::vector<double>> environments;
  for (std::size_t i = 0; i < points.size(); ++i) {
    environments[environment(points[i], options)].push_back(ratios[i]);
  }
  std::map<std::string, double> scale_of;
  for (auto& [name, of] : environments) scale_of[name] = quantile(std::move(of), 0.5);
  // A lone environment is what will be predicted, and the points that name none are scaled by none.
  const bool scaled = scale_of.size() > 1 && !scale_of.contains("");
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (scaled) ratios[i] /= scale_of.at(environment(points[i], options));
    ratios[i] -= 1.0;
  }
  return error_statistics(ratios);
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

CollectiveGroups groups_of(const std::vector<Measurement>& points) {
  CollectiveGroups groups;
  for (const Measurement& point : points) {
    const auto* measured = std::get_if<MeasuredCollective>(&point.what);
    if (measured) groups.emplace(measured->nodes, measured->ranks);
  }
  return groups;
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

std::string groups_text(const CollectiveGroups& groups) {
  std::map<int, std::vector<std::string>> ranks_of;
  for (const auto& [nodes, ranks] : groups) ranks_of[nodes].push_back(std::to_string(ranks));
  std::vector<std::string> parts;
  for (auto& [nodes, ranks] : ranks_of) {
    const std::string last = ranks.back();
    ranks.pop_back();
    parts.push_back(fmt::format("{}{}{} ranks of {} node{}", fmt::join(ranks, ", "),
                                ranks.empty() ? "" : " and ", last, nodes, nodes > 1 ? "s" : ""));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

FitSample split_sample(const Points& points,
                       const std::function<std::string(const Measurement&)>& shape,
                       const FitOptions& options) {
  std::set<std::string> sorted;
  for (const Measurement* point : points) sorted.insert(shape(*point));
  std::vector<std::string> shapes(sorted.begin(), sorted.end());
  std::mt19937_64 random(7);
  for (std::size_t i = shapes.size(); i > 1; --i) std::swap(shapes[i - 1], shapes[random() % i]);
  FitSample sample;
  if (shapes.size() >= kFewestShapes) sample.folds = options.folds;
  std::map<std::string, int> fold_of;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    fold_of[shapes[i]] = static_cast<int>(i) % sample.folds;
  }
  for (const Measurement* point : points) {
    sample.points.push_back(*point);
    sample.fold.push_back(fold_of.at(shape(*point)));
  }
  return sample;
}

FitReport fit_sample(const std::string& what, const FitSample& sample,
                     const std::vector<Parameter>& parameters, const ModelOf& model_of,
                     const FitOptions& options) {
  const std::vector<Measurement>& points = sample.points;
  std::vector<double> ratios(points.size());
  FitReport report;
  report.what = what;
  for (int fold = 0; fold < sample.folds && sample.folds > 1; ++fold) {
    std::vector<Measurement> others;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (sample.fold[i] != fold) others.push_back(points[i]);
    }
    const Predictor part = model_of(fit_points(others, parameters, model_of, options).values());
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (sample.fold[i] == fold) ratios[i] = part(points[i]) / points[i].time;
    }
  }
  if (sample.folds > 1) report.held_out_errors = errors_of(points, ratios, options);
  const LeastSquaresFit whole = fit_points(points, parameters, model_of, options);
  const Predictor model = model_of(whole.values());
  for (std::size_t i = 0; i < points.size(); ++i) ratios[i] = model(points[i]) / points[i].time;
  report.sources = sources_of(points);
  report.groups = groups_of(points);
  report.errors = errors_of(points, ratios, options);
  report.constants = whole.constants;
  report.constants.resize(parameters.size());
  report.warnings = whole.warnings;
  return report;
}

std::string weight_shape(const Gemm& gemm) {
  return fmt::format("{} {}", gemm.n, gemm.k);
}

std::string message_size(const Measurement& point) {
  return fmt::format("{:.0f}", std::get<MeasuredCollective>(point.what).bytes.value);
}

std::string rate_alone(std::size_t points, std::size_t needed) {
  return fmt::format(
      "{} of the {} points that all constants take: its rate alone was moved, the "
      "rest is the base file's",
      points, needed);
}

double mean_stated_error(const std::vector<FitReport>& reports) {
  double errors = 0.0;
  double points = 0.0;
  for (const FitReport& report : reports) {
    errors += stated_error(report) * static_cast<double>(report.errors.n);
    points += static_cast<double>(report.errors.n);
  }
  return points > 0.0 ? errors / points : 0.0;
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
