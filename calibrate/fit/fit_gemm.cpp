#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

namespace prequel {
namespace {

constexpr double kSmallestFlop = 1e9;  ///< below, launch and timer dominate
constexpr std::int64_t kFewestRows = 64;
constexpr std::size_t kFewestProducts = 30;
/// Fewest points of one device for its rate alone.
constexpr std::size_t kFewestForRate = 3;

bool is_half_precision(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

/// The product of a point, timed alone or with the casts of its operands; none of other points.
const Gemm* product_of(const Measurement& point) {
  if (const auto* gemm = std::get_if<Gemm>(&point.what)) return gemm;
  const auto* timed = std::get_if<MeasuredKernels>(&point.what);
  if (!timed) return nullptr;
  const Gemm* product = nullptr;
  for (const auto& kernel : timed->kernels) {
    if (std::holds_alternative<GroupedGemm>(kernel)) return nullptr;
    if (const auto* gemm = std::get_if<Gemm>(&kernel)) product = gemm;
  }
  return product;
}

std::string product_weight_shape(const Measurement& point) {
  return weight_shape(*product_of(point));
}

/// Casts that were timed with a product, at the device's constants.
Seconds casts_of(const Device& device, const Measurement& point) {
  Seconds sum{};
  if (const auto* timed = std::get_if<MeasuredKernels>(&point.what)) {
    for (const auto& kernel : timed->kernels) {
      if (const auto* stream = std::get_if<Stream>(&kernel)) sum += price(device, *stream);
    }
  }
  return sum;
}

/// A tile loses about 7 % of the rate each time it halves: less reuse of its operands.
double usual_quality(const GemmTile& tile) {
  return std::min(1.0, 1.0 - 0.07 * std::log2(256.0 * 128.0 / (tile.m * tile.n)));
}

/// Starts do not depend on earlier fits, so that the same command makes the same file; bounds are
/// what is physical. A cache feeds about one byte for 64 FLOP of the peak.
std::vector<FreeConstant<TiledGemm>> gemm_constants(const TiledGemm& model, double peak) {
  const double l2_rate = peak / 64.0;
  std::vector<FreeConstant<TiledGemm>> constants{
      {{"efficiency", 0.9, 0.2, 1.0}, &TiledGemm::efficiency},
      {{"launch_s", 2.5e-6, 2e-7, 2e-5}, &TiledGemm::launch},
      {{"tile_overhead_s", 2.5e-6, 2e-7, 2e-5}, &TiledGemm::tile_overhead},
      {{"tail", 0.8, 0.01, 1.0}, &TiledGemm::tail},
      {{"l2_rate", l2_rate, l2_rate / 5.0, l2_rate * 5.0}, &TiledGemm::l2_rate},
      {{"memory_fraction", 0.8, 0.3, 0.97}, &TiledGemm::memory_fraction},
      {{"split_s", 4e-6, 5e-7, 2e-5}, &TiledGemm::split},
      {{"droop", 0.05, 0.005, 0.3}, &TiledGemm::droop},
  };
  for (std::size_t i = 0; i < model.tiles.size(); ++i) {
    const GemmTile& tile = model.tiles[i];
    constants.push_back(
        {{fmt::format("quality of {}x{}", tile.m, tile.n), usual_quality(tile), 0.4, 1.05, 1.0},
         [i](TiledGemm& tried, double value) { tried.tiles[i].quality = value; }});
  }
  return constants;
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
      return gemm.pass == pass && gemm.batch == 1 && large(gemm) &&
             is_half_precision(gemm.precision);
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
  const Points products = points_of<Gemm>(
      points, [](const Gemm& gemm) { return gemm.pass == GemmPass::forward && gemm.batch == 1; });
  if (products.size() < kFewestProducts) return {};
  const auto prices = [&](const FlatGemm& flat) {
    Device trial = device;
    trial.gemm = flat;
    return [trial](const Measurement& point) { return price(trial, std::get<Gemm>(point.what)); };
  };
  FlatGemm flat;
  const FitReport report =
      fit_model<FlatGemm>("gemm", split_sample(products, product_weight_shape, options),
                          {{{"efficiency", 0.5, 1e-4, 1.0}, &FlatGemm::efficiency},
                           {{"launch_s", 1e-5, 1e-7, 1e-3, 0.05}, &FlatGemm::launch}},
                          prices, options, flat);
  device.gemm = flat;
  device.errors.gemm = stated_error(report);
  return {report};
}

/// The model that products of a format are priced by: that of all 16-bit ones, or its own.
GemmModel& model_of(Device& device, Precision precision) {
  auto& own = device.gemm_formats[static_cast<std::size_t>(precision)];
  if (is_half_precision(precision)) return device.gemm;
  if (!own) own = device.gemm;
  return *own;
}

/// Tiles of one format, with the casts at the device's constants.
std::optional<FitReport> fit_tiles(const std::string& what, Precision precision,
                                   const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  Points products;
  for (const Measurement& point : points) {
    const Gemm* gemm = product_of(point);
    const bool wanted =
        gemm && (gemm->precision == precision ||
                 (is_half_precision(precision) && is_half_precision(gemm->precision)));
    if (wanted && gemm->pass == GemmPass::forward && gemm->batch == 1 && gemm->m >= kFewestRows &&
        flops(*gemm).value >= kSmallestFlop) {
      products.push_back(&point);
    }
  }
  const bool few = products.size() < kFewestProducts;
  if (few && (!options.same_device || products.size() < kFewestForRate)) return std::nullopt;
  TiledGemm& model = std::get<TiledGemm>(model_of(device, precision));
  const DeviceRates rates{device.peak(precision), device.compute_units, device.memory_rate};
  const auto prices = [&](const TiledGemm& tried) {
    return [&, trial = GemmModel(tried)](const Measurement& point) {
      return price(trial, rates, *product_of(point)) + casts_of(device, point);
    };
  };
  return fit_model(what, split_sample(products, product_weight_shape, options),
                   gemm_constants(model, rates.peak.value), prices, options, model,
                   kFewestProducts);
}

}  // namespace

std::vector<FitReport> fit_gemm(const std::vector<Measurement>& points, const FitOptions& options,
                                Device& device) {
  if (std::holds_alternative<FlatGemm>(device.gemm)) return fit_flat(points, options, device);
  std::vector<FitReport> reports;
  if (const auto report = fit_tiles("gemm", Precision::bf16, points, options, device)) {
    fit_ratios(points, device, std::get<TiledGemm>(device.gemm));
    device.errors.gemm = stated_error(*report);
    reports.push_back(*report);
  }
  for (const Precision format :
       {Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::fp4}) {
    const std::string what = fmt::format("gemm {}", name(format));
    if (const auto report = fit_tiles(what, format, points, options, device)) {
      device.errors.gemm_formats[static_cast<std::size_t>(format)] = stated_error(*report);
      reports.push_back(*report);
    }
  }
  return reports;
}

}  // namespace prequel
