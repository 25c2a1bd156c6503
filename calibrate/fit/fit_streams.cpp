#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

namespace prequel {
namespace {

constexpr std::size_t kFewestPointsByRows = 12;
/// Every constant more has to lower the error at least to this share, and waves have to tell their
/// constant at least to this relative error.
constexpr double kConstantPays = 0.97;
constexpr double kWavesKnown = 0.5;

double row_bytes(const Stream& stream) {
  return stream.bytes.value / stream.rows;
}

std::string row_width(const Measurement& point) {
  const Stream& stream = std::get<MeasuredStream>(point.what).stream;
  return fmt::format("{}", stream.rows > 0.0 ? row_bytes(stream) : stream.bytes.value);
}

/// The cached rate is searched as a multiple of the memory's, so that it cannot fall below it.
std::vector<Parameter> stream_parameters(bool by_rows, bool in_waves) {
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
  if (in_waves) parameters.push_back({"last_wave", 0.5, 0.01, 1.0, 0.02});
  return parameters;
}

StreamModel with_values(const std::vector<double>& values, double rows_per_unit) {
  StreamModel model;
  model.launch = {values[0]};
  model.memory_fraction = values[1];
  model.cached_fraction = values[1] * values[2];
  model.cached = {values[3]};
  if (values.size() > 5) {
    model.row_overhead = {values[4]};
    model.row_rate = {values[5]};
  }
  if (values.size() > 6) {
    model.rows_per_unit = rows_per_unit;
    model.last_wave = values[6];
  }
  return model;
}

/// One form of the model, and how it meets the points.
struct FittedKind {
  StreamModel model;
  FitReport report;
};

FittedKind fit_form(StreamKind kind, const FitSample& sample, bool by_rows, double rows_per_unit,
                    const FitOptions& options, const Device& device) {
  const std::vector<Parameter> parameters = stream_parameters(by_rows, rows_per_unit > 0.0);
  const auto constants = static_cast<std::ptrdiff_t>(parameters.size());
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    Device trial;
    trial.memory_rate = device.memory_rate;
    trial.compute_units = device.compute_units;
    trial.streams.fill(with_values({values.begin(), values.begin() + constants}, rows_per_unit));
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  FittedKind fitted;
  fitted.report = fit_sample(std::string(name(kind)), sample, parameters, model_of, options);
  fitted.model = with_values(values_of(fitted.report), rows_per_unit);
  return fitted;
}

/// The simplest form that meets the points: bytes alone, with rows, with waves of rows. How many
/// rows a compute unit holds is not known of a measured kernel: the count that fits best is taken.
FitReport fit_kind(StreamKind kind, const std::vector<const Measurement*>& points,
                   const FitOptions& options, Device& device) {
  const bool by_rows = std::all_of(points.begin(), points.end(), [](const Measurement* point) {
    return std::get<MeasuredStream>(point->what).stream.rows > 0.0;
  });
  const FitSample sample = split_sample(points, row_width, options);
  FittedKind best = fit_form(kind, sample, false, 0.0, options, device);
  const auto try_form = [&](double rows_per_unit) {
    FittedKind form = fit_form(kind, sample, true, rows_per_unit, options, device);
    const auto added = static_cast<double>(form.report.constants.size()) -
                       static_cast<double>(best.report.constants.size());
    const double share = std::pow(kConstantPays, added);
    if (rows_per_unit > 0.0 && form.report.constants.back().relative_error > kWavesKnown) return;
    if (form.report.errors.mape < share * best.report.errors.mape) best = std::move(form);
  };
  const bool enough = by_rows && points.size() >= kFewestPointsByRows;
  if (enough) try_form(0.0);
  if (enough && device.compute_units > 0.0) {
    for (const double rows_per_unit : {1.0, 2.0}) try_form(rows_per_unit);
  }
  device.streams[static_cast<std::size_t>(kind)] = best.model;
  return best.report;
}

/// The share of the memory's rate alone, of what is cached, too.
FitReport fit_rate(StreamKind kind, const std::vector<const Measurement*>& points,
                   const FitOptions& options, Device& device) {
  StreamModel& model = device.streams[static_cast<std::size_t>(kind)];
  const auto tried = [start = model](double fraction) {
    StreamModel trial = start;
    trial.memory_fraction = fraction;
    trial.cached_fraction *= fraction / start.memory_fraction;
    return trial;
  };
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    Device trial;
    trial.memory_rate = device.memory_rate;
    trial.compute_units = device.compute_units;
    trial.streams.fill(tried(values[0]));
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  FitReport report =
      fit_sample(std::string(name(kind)), split_sample(points, row_width, options),
                 {{"memory_fraction", model.memory_fraction, 0.002, 1.1}}, model_of, options);
  report.warnings.push_back(rate_alone(points.size(), kFewestStreams));
  model = tried(values_of(report)[0]);
  return report;
}

std::vector<const Measurement*> points_of(const std::vector<Measurement>& points, StreamKind kind) {
  std::vector<const Measurement*> chosen;
  for (const Measurement& point : points) {
    const auto* measured = std::get_if<MeasuredStream>(&point.what);
    if (measured && measured->stream.kind == kind) chosen.push_back(&point);
  }
  return chosen;
}

}  // namespace

std::vector<FitReport> fit_streams(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  std::vector<FitReport> reports;
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    const std::vector<const Measurement*> of_kind = points_of(points, kind);
    if (of_kind.size() >= kFewestStreams) {
      reports.push_back(fit_kind(kind, of_kind, options, device));
    } else if (options.same_device && !of_kind.empty()) {
      reports.push_back(fit_rate(kind, of_kind, options, device));
    }
  }
  if (!reports.empty()) device.errors.stream = mean_stated_error(reports);
  return reports;
}

}  // namespace prequel
