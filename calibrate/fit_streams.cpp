#include <fmt/format.h>

#include <algorithm>

#include "calibrate/fit.hpp"
#include "calibrate/fit_sample.hpp"

namespace prequel {
namespace {

constexpr std::size_t kFewestPoints = 12;

double row_bytes(const Stream& stream) {
  return stream.bytes.value / stream.rows;
}

std::string row_width(const Measurement& point) {
  const Stream& stream = std::get<MeasuredStream>(point.what).stream;
  return fmt::format("{}", stream.rows > 0.0 ? row_bytes(stream) : stream.bytes.value);
}

/// The cached rate is searched as a multiple of the memory's, so that it cannot fall below it.
std::vector<Parameter> stream_parameters(bool by_rows) {
  std::vector<Parameter> parameters{
      {"launch_s", 2e-6, 2e-7, 2e-5},
      {"memory_fraction", 0.6, 0.002, 1.1},
      {"cached over memory rate", 1.3, 1.0, 8.0, 0.05},
      {"cached_bytes", 1.5e7, 5e5, 6e7, 0.05},
  };
  if (by_rows) {
    parameters.push_back({"row_overhead_bytes", 5e2, 1.0, 2e4, 0.02});
    parameters.push_back({"row_rate", 1e10, 1e9, 1e13, 0.02});
  }
  return parameters;
}

StreamModel with_values(const std::vector<double>& values) {
  StreamModel model;
  model.launch_s = values[0];
  model.memory_fraction = values[1];
  model.cached_fraction = values[1] * values[2];
  model.cached_bytes = values[3];
  if (values.size() > 5) {
    model.row_overhead_bytes = values[4];
    model.row_rate = values[5];
  }
  return model;
}

FitReport fit_kind(StreamKind kind, const std::vector<const Measurement*>& points,
                   const FitOptions& options, Device& device) {
  const bool by_rows = std::all_of(points.begin(), points.end(), [](const Measurement* point) {
    return std::get<MeasuredStream>(point->what).stream.rows > 0.0;
  });
  const std::vector<Parameter> parameters = stream_parameters(by_rows);
  const auto constants = static_cast<std::ptrdiff_t>(parameters.size());
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    Device trial;
    trial.memory_rate = device.memory_rate;
    trial.streams.fill(with_values({values.begin(), values.begin() + constants}));
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  FitReport report = fit_sample(std::string(name(kind)), split_sample(points, row_width, options),
                                parameters, model_of, options);
  device.streams[static_cast<std::size_t>(kind)] = with_values(values_of(report));
  return report;
}

std::vector<const Measurement*> points_of(const std::vector<Measurement>& points,
                                          const std::vector<StreamKind>& kinds) {
  std::vector<const Measurement*> chosen;
  for (const Measurement& point : points) {
    const auto* measured = std::get_if<MeasuredStream>(&point.what);
    if (measured && std::count(kinds.begin(), kinds.end(), measured->stream.kind) > 0) {
      chosen.push_back(&point);
    }
  }
  return chosen;
}

/// A kernel of no special kind is no measured one: additions and norms stand for it, which are
/// what training stacks run most.
std::vector<const Measurement*> points_for(const std::vector<Measurement>& points,
                                           StreamKind kind) {
  std::vector<const Measurement*> own = points_of(points, {kind});
  if (own.empty() && kind == StreamKind::fused_pointwise) {
    return points_of(points, {StreamKind::residual_add, StreamKind::layer_norm});
  }
  return own;
}

}  // namespace

std::vector<FitReport> fit_streams(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  std::vector<FitReport> reports;
  double errors = 0.0;
  double weight = 0.0;
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    const std::vector<const Measurement*> of_kind = points_for(points, kind);
    if (of_kind.size() < kFewestPoints) continue;
    reports.push_back(fit_kind(kind, of_kind, options, device));
    errors += stated_error(reports.back()) * static_cast<double>(of_kind.size());
    weight += static_cast<double>(of_kind.size());
  }
  if (weight > 0.0) device.errors.stream = errors / weight;
  return reports;
}

}  // namespace prequel
