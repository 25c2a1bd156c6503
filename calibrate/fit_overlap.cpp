#include <fmt/format.h>

#include <map>
#include <tuple>

#include "calibrate/error_statistics.hpp"
#include "calibrate/fit.hpp"
#include "calibrate/fit_sample.hpp"

namespace prequel {
namespace {

using Shape =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, Precision, GemmPass>;

Shape shape_of(const Gemm& gemm) {
  return {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.precision, gemm.pass};
}

std::string weight_shape(const Measurement& point) {
  const Gemm& gemm = std::get<MeasuredBeside>(point.what).gemm;
  return fmt::format("{}x{}", gemm.n, gemm.k);
}

/// Median times of the products alone.
std::map<Shape, Seconds> times_alone(const std::vector<Measurement>& points) {
  std::map<Shape, std::vector<double>> measured;
  for (const Measurement& point : points) {
    if (const auto* gemm = std::get_if<Gemm>(&point.what)) {
      measured[shape_of(*gemm)].push_back(point.time.value);
    }
  }
  std::map<Shape, Seconds> times;
  for (auto& [shape, samples] : measured) times[shape] = {quantile(std::move(samples), 0.5)};
  return times;
}

}  // namespace

std::vector<FitReport> fit_overlap(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  const std::map<Shape, Seconds> alone = times_alone(points);
  std::vector<const Measurement*> beside;
  for (const Measurement& point : points) {
    const auto* what = std::get_if<MeasuredBeside>(&point.what);
    if (what && alone.contains(shape_of(what->gemm))) beside.push_back(&point);
  }
  if (beside.size() < kFewestBeside) return {};
  const auto model_of = [&alone](const std::vector<double>& values) -> Predictor {
    return [&alone, loss = values[0]](const Measurement& point) {
      return alone.at(shape_of(std::get<MeasuredBeside>(point.what).gemm)) * (1.0 + loss);
    };
  };
  const FitReport report = fit_sample("overlap", split_sample(beside, weight_shape, options),
                                      {{"loss", 0.3, 1e-4, 1.0}}, model_of, options);
  device.overlap_loss = values_of(report).front();
  return {report};
}

}  // namespace prequel
