#include "calibrate/fit/fit.hpp"

#include <map>

#include <fmt/format.h>

#include "calibrate/fit/fit_sample.hpp"
#include "calibrate/statistics/error_statistics.hpp"

namespace prequel {
namespace {

constexpr std::size_t kFewestTransfers = 8;

/// Steps show only between groups of different size.
std::vector<Parameter> network_parameters(bool many_sizes) {
  std::vector<Parameter> parameters{
      {"efficiency", 0.8, 0.005, 1.0},
      {"latency_s", 2e-5, 1e-7, 1.0, 0.02},
      {"fill_s", 1e-5, 1e-9, 1.0, 0.02},
  };
  if (many_sizes) parameters.push_back({"step_latency_s", 4e-6, 1e-9, 1e-2, 0.02});
  return parameters;
}

NetworkModel with_values(const std::vector<double>& values, const NetworkModel& base,
                         bool many_sizes) {
  NetworkModel network = base;
  network.efficiency = values[0];
  network.link.latency = {values[1]};
  network.link.fill = {values[2]};
  if (many_sizes) network.link.step = {values[3]};
  return network;
}

}  // namespace

std::vector<FitReport> fit_network(const std::vector<Measurement>& points,
                                   const FitOptions& options, Cluster& cluster) {
  std::vector<const Measurement*> across;
  bool many_sizes = false;
  for (const Measurement& point : points) {
    const auto* measured = std::get_if<MeasuredCollective>(&point.what);
    if (!measured || measured->nodes < 2) continue;
    across.push_back(&point);
    const auto& first = std::get<MeasuredCollective>(across.front()->what);
    many_sizes = many_sizes || measured->ranks != first.ranks;
  }
  if (across.size() < kFewestTransfers) return {};
  const auto model_of = [&cluster, many_sizes](const std::vector<double>& values) -> Predictor {
    Cluster trial = cluster;
    trial.network = with_values(values, cluster.network, many_sizes);
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  std::vector<FitReport> reports{fit_sample("network", split_sample(across, message_size, options),
                                            network_parameters(many_sizes), model_of, options)};
  cluster.network = with_values(values_of(reports.front()), cluster.network, many_sizes);
  return reports;
}

namespace {

/// Below it a copy is mostly the time to start it, which offload, in large pieces, does not see.
constexpr double kSmallestCopy = 1048576.0;

std::string copied_bytes(const Measurement& point) {
  return fmt::format("{:.0f}", std::get<MeasuredCopy>(point.what).bytes.value);
}

}  // namespace

std::vector<FitReport> fit_host_link(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device) {
  std::vector<const Measurement*> copies;
  for (const Measurement& point : points) {
    const auto* copy = std::get_if<MeasuredCopy>(&point.what);
    if (copy && copy->pinned && copy->bytes.value >= kSmallestCopy) copies.push_back(&point);
  }
  if (copies.size() < kFewestCopies) return {};
  const auto model_of = [](const std::vector<double>& values) -> Predictor {
    Device trial;
    trial.host_link = {values[0]};
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  const FitReport report =
      fit_sample("host_link", split_sample(copies, copied_bytes, options),
                 {{"rate", device.host_link.value, 1e8, 1e13}}, model_of, options);
  device.host_link = {values_of(report).front()};
  return {report};
}

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
