#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "calibrate/fit.hpp"
#include "calibrate/fit_sample.hpp"

namespace prequel {
namespace {

constexpr double kSmallestFlop = 1e9;  ///< below, launch and timer dominate
constexpr std::int64_t kFewestRows = 64;
constexpr std::size_t kFewestPoints = 30;

/// What training multiplies in. Other formats are priced by their peaks and the same constants;
/// their products would pull these away.
bool is_half_precision(const Gemm& gemm) {
  return gemm.precision == Precision::bf16 || gemm.precision == Precision::fp16;
}

std::string shape_of_weights(const Measurement& point) {
  return weight_shape(std::get<Gemm>(point.what));
}

/// A tile loses about 7 % of the rate each time it halves: less reuse of its operands.
double usual_quality(const GemmTile& tile) {
  return std::min(1.0, 1.0 - 0.07 * std::log2(256.0 * 128.0 / (tile.m * tile.n)));
}

/// Starts do not depend on earlier fits, so that the same command makes the same file; bounds are
/// what is physical. A cache feeds about one byte for 64 FLOP of the peak.
std::vector<Parameter> gemm_parameters(const TiledGemm& model, double peak) {
  const double l2_rate = peak / 64.0;
  std::vector<Parameter> parameters{
      {"efficiency", 0.9, 0.2, 1.0},
      {"launch_s", 2.5e-6, 2e-7, 2e-5},
      {"tile_overhead_s", 2.5e-6, 2e-7, 2e-5},
      {"tail", 0.8, 0.01, 1.0},
      {"l2_rate", l2_rate, l2_rate / 5.0, l2_rate * 5.0},
      {"memory_fraction", 0.8, 0.3, 0.97},
      {"split_s", 4e-6, 5e-7, 2e-5},
      {"droop", 0.05, 0.005, 0.3},
  };
  for (const GemmTile& tile : model.tiles) {
    parameters.push_back(
        {fmt::format("quality of {}x{}", tile.m, tile.n), usual_quality(tile), 0.4, 1.05, 1.0});
  }
  return parameters;
}

TiledGemm with_values(TiledGemm model, const std::vector<double>& values) {
  model.efficiency = values[0];
  model.launch_s = values[1];
  model.tile_overhead_s = values[2];
  model.tail = values[3];
  model.l2_rate = values[4];
  model.memory_fraction = values[5];
  model.split_s = values[6];
  model.droop = values[7];
  for (std::size_t i = 0; i < model.tiles.size(); ++i) model.tiles[i].quality = values[8 + i];
  return model;
}

/// Median of measured / priced over the products that `keep` chooses; nothing if they are few.
std::optional<double> slowness(const std::vector<Measurement>& points, const Device& device,
                               std::size_t fewest, const std::function<bool(const Gemm&)>& keep) {
  std::vector<double> ratios;
  for (const Measurement& point : points) {
    const auto* gemm = std::get_if<Gemm>(&point.what);
    if (gemm && keep(*gemm)) ratios.push_back(point.time / price(device, *gemm));
  }
  if (ratios.size() < fewest) return std::nullopt;
  return quantile(std::move(ratios), 0.5);
}

/// The two constants that are plain ratios to what was fitted: weight gradients over forward
/// products of the same environments, and batched products off the tensor cores.
void fit_ratios(const std::vector<Measurement>& points, Device& device, TiledGemm& model) {
  const auto large = [](const Gemm& gemm) { return flops(gemm).value >= kSmallestFlop; };
  const auto of_pass = [&](GemmPass pass) {
    return slowness(points, device, 10, [&, pass](const Gemm& gemm) {
      return gemm.pass == pass && gemm.batch == 1 && large(gemm) && is_half_precision(gemm);
    });
  };
  const auto forward = of_pass(GemmPass::forward);
  const auto wgrad = of_pass(GemmPass::wgrad);
  if (forward && wgrad) model.wgrad_factor *= *wgrad / *forward;
  const auto misaligned = slowness(points, device, 4, [&](const Gemm& gemm) {
    return leaves_tensor_cores(gemm) && large(gemm);
  });
  if (misaligned)
    model.misaligned_fraction = std::min(1.0, model.misaligned_fraction / *misaligned);
}

/// One rate and one launch for all shapes, small ones included: processors without tensor cores.
std::vector<FitReport> fit_flat(const std::vector<Measurement>& points, const FitOptions& options,
                                Device& device) {
  std::vector<const Measurement*> products;
  for (const Measurement& point : points) {
    const auto* gemm = std::get_if<Gemm>(&point.what);
    if (gemm && gemm->pass == GemmPass::forward && gemm->batch == 1) products.push_back(&point);
  }
  if (products.size() < kFewestPoints) return {};
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    Device trial = device;
    trial.gemm = FlatGemm{values[0], values[1]};
    return [trial](const Measurement& point) { return price(trial, std::get<Gemm>(point.what)); };
  };
  const std::vector<Parameter> parameters{{"efficiency", 0.5, 1e-4, 1.0},
                                          {"launch_s", 1e-5, 1e-7, 1e-3, 0.05}};
  const FitReport report = fit_sample("gemm", split_sample(products, shape_of_weights, options),
                                      parameters, model_of, options);
  const std::vector<double> values = values_of(report);
  device.gemm = FlatGemm{values[0], values[1]};
  device.errors.gemm = stated_error(report);
  return {report};
}

}  // namespace

std::vector<FitReport> fit_gemm(const std::vector<Measurement>& points, const FitOptions& options,
                                Device& device) {
  auto* model = std::get_if<TiledGemm>(&device.gemm);
  if (!model) return fit_flat(points, options, device);
  std::vector<const Measurement*> products;
  for (const Measurement& point : points) {
    const auto* gemm = std::get_if<Gemm>(&point.what);
    if (gemm && gemm->pass == GemmPass::forward && gemm->batch == 1 && is_half_precision(*gemm) &&
        gemm->m >= kFewestRows && flops(*gemm).value >= kSmallestFlop) {
      products.push_back(&point);
    }
  }
  if (products.size() < kFewestPoints) return {};
  const TiledGemm start = *model;
  const double peak = device.peak(std::get<Gemm>(products.front()->what).precision).value;
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    Device trial = device;
    trial.gemm = with_values(start, values);
    return [trial](const Measurement& point) { return price(trial, std::get<Gemm>(point.what)); };
  };
  const FitReport report = fit_sample("gemm", split_sample(products, shape_of_weights, options),
                                      gemm_parameters(start, peak), model_of, options);
  *model = with_values(start, values_of(report));
  fit_ratios(points, device, *model);
  device.errors.gemm = stated_error(report);
  return {report};
}

}  // namespace prequel
