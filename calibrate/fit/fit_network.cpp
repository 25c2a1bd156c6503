#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

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

}  // namespace prequel
