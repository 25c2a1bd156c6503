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
std::vector<FreeConstant<StreamModel>> stream_constants(bool by_rows, bool in_waves) {
  std::vector<FreeConstant<StreamModel>> constants{
      {{"launch_s", 2e-6, 2e-7, 2e-5}, &StreamModel::launch},
      {{"memory_fraction", 0.6, 0.002, 1.1}, &StreamModel::memory_fraction},
      {{"cached over memory rate", 1.3, 1.0, 8.0, 0.05},
       [](StreamModel& model, double value) {
         model.cached_fraction = model.memory_fraction * value;
       }},
      {{"cached_bytes", 1.5e7, 5e5, 6e7, 0.05}, &StreamModel::cached},
  };
  if (by_rows) {
    constants.push_back({{"row_overhead_bytes", 5e2, 1.0, 2e4, 0.02}, &StreamModel::row_overhead});
    constants.push_back({{"row_rate", 1e10, 1e9, 1e13, 0.02}, &StreamModel::row_rate});
  }
  if (in_waves) {
    constants.push_back({{"last_wave", 0.5, 0.01, 1.0, 0.02}, &StreamModel::last_wave});
  }
  return constants;
}

/// Fits these constants of a model of the kind.
FitReport fit_stream(StreamKind kind, const FitSample& sample,
                     const std::vector<FreeConstant<StreamModel>>& constants,
                     const FitOptions& options, const Device& device, StreamModel& model,
                     std::size_t needed = 0) {
  const auto prices = [&](const StreamModel& tried) {
    Device trial;
    trial.memory_rate = device.memory_rate;
    trial.compute_units = device.compute_units;
    trial.streams.fill(tried);
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  return fit_model(std::string(name(kind)), sample, constants, prices, options, model, needed);
}

/// The simplest form that meets the points: bytes alone, with rows, with waves of rows. How many
/// rows a compute unit holds is not known of a measured kernel: the count that fits best is taken.
FitReport fit_kind(StreamKind kind, const Points& points, const FitOptions& options,
                   Device& device) {
  const bool by_rows = std::ranges::all_of(points, [](const Measurement* point) {
    return std::get<MeasuredStream>(point->what).stream.rows > 0.0;
  });
  const FitSample sample = split_sample(points, row_width, options);
  StreamModel best;
  FitReport report =
      fit_stream(kind, sample, stream_constants(false, false), options, device, best);
  const auto try_form = [&](double rows_per_unit) {
    StreamModel form;
    form.rows_per_unit = rows_per_unit;
    FitReport tried = fit_stream(kind, sample, stream_constants(true, rows_per_unit > 0.0), options,
                                 device, form);
    const auto added =
        static_cast<double>(tried.constants.size()) - static_cast<double>(report.constants.size());
    const double share = std::pow(kConstantPays, added);
    if (rows_per_unit > 0.0 && tried.constants.back().relative_error > kWavesKnown) return;
    if (tried.errors.mape >= share * report.errors.mape) return;
    report = std::move(tried);
    best = form;
  };
  const bool enough = by_rows && points.size() >= kFewestPointsByRows;
  if (enough) try_form(0.0);
  if (enough && device.compute_units > 0.0) {
    for (const double rows_per_unit : {1.0, 2.0}) try_form(rows_per_unit);
  }
  device.streams[static_cast<std::size_t>(kind)] = best;
  return report;
}

/// The share of the memory's rate alone, of what is cached, too.
FitReport fit_rate(StreamKind kind, const Points& points, const FitOptions& options,
                   Device& device) {
  StreamModel& model = device.streams[static_cast<std::size_t>(kind)];
  const FreeConstant<StreamModel> rate{
      {"memory_fraction", model.memory_fraction, 0.002, 1.1},
      [start = model.memory_fraction](StreamModel& tried, double fraction) {
        tried.memory_fraction = fraction;
        tried.cached_fraction *= fraction / start;
      }};
  return fit_stream(kind, split_sample(points, row_width, options), {rate}, options, device, model,
                    kFewestStreams);
}

}  // namespace

std::vector<FitReport> fit_streams(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  std::vector<FitReport> reports;
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    const Points of_kind = points_of<MeasuredStream>(
        points, [kind](const MeasuredStream& what) { return what.stream.kind == kind; });
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
