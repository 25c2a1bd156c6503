#include <map>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"
#include "calibrate/statistics/error_statistics.hpp"

namespace prequel {
namespace {

const Gemm& product(const Measurement& point) {
  return std::get<MeasuredBeside>(point.what).gemm;
}

std::string beside_weight_shape(const Measurement& point) {
  return weight_shape(product(point));
}

/// Median times of the products alone.
std::map<Gemm, Seconds> times_alone(const std::vector<Measurement>& points) {
  std::map<Gemm, std::vector<double>> measured;
  for (const Measurement& point : points) {
    if (const auto* gemm = std::get_if<Gemm>(&point.what)) {
      measured[*gemm].push_back(point.time.value);
    }
  }
  std::map<Gemm, Seconds> times;
  for (auto& [gemm, samples] : measured) times[gemm] = {quantile(std::move(samples), 0.5)};
  return times;
}

}  // namespace

std::vector<FitReport> fit_overlap(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  const std::map<Gemm, Seconds> alone = times_alone(points);
  std::vector<const Measurement*> beside;
  for (const Measurement& point : points) {
    const auto* what = std::get_if<MeasuredBeside>(&point.what);
    if (what && alone.contains(what->gemm)) beside.push_back(&point);
  }
  if (beside.size() < kFewestBeside) return {};
  const auto model_of = [&alone](const std::vector<double>& values) -> Predictor {
    return [&alone, loss = values[0]](const Measurement& point) {
      return alone.at(product(point)) * (1.0 + loss);
    };
  };
  const FitReport report = fit_sample("overlap", split_sample(beside, beside_weight_shape, options),
                                      {{"loss", 0.3, 1e-4, 1.0}}, model_of, options);
  device.overlap_loss = values_of(report).front();
  return {report};
}

}  // namespace prequel
