#include "hw/kernels/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "hw/price_explanation.hpp"

namespace prequel {
namespace {

/// Ceiling of a/b for positive whole a and b.
double blocks(std::int64_t a, double b) {
  const auto size = static_cast<std::int64_t>(b);
  const std::int64_t ceiling = (a + size - 1) / size;
  return static_cast<double>(ceiling);
}

double square(double x) {
  return x * x;
}

/// Full waves that `tiles` take on `units` compute units.
double waves(double tiles, double units, double tail) {
  const double w = tiles / units;
  if (w <= 1.0) return 1.0;
  const auto full = static_cast<double>(static_cast<std::int64_t>(w));
  const double rest = w - full;
  return rest > 0.0 ? full + tail + (1.0 - tail) * rest : full;
}

double sustained_clock_factor(double droop, double flop) {
  if (flop <= 1e11) return 1.0;
  return 1.0 + droop * std::min(std::log10(flop / 1e11), 1.5);
}

/// What the library is taken to choose, and the limits that follow; all in seconds but the counts.
struct TileChoice {
  const GemmTile* tile{};
  double split{};
  double tiles{};  ///< of all splits
  double one_tile{};
  double compute{};  ///< of all waves
  double feed{};
  double memory{};
  double traffic{};  ///< bytes
  double fixed{};
  double seconds{std::numeric_limits<double>::max()};
};

TileChoice best_tile(const TiledGemm& model, const Device& device, const Gemm& gemm) {
  const double peak = device.peak(gemm.precision).value;
  const double units = device.compute_units;
  const double element = bytes_per_element(gemm.precision);
  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  const auto batch = static_cast<double>(gemm.batch);
  const double memory_rate = model.memory_fraction * device.memory_rate.value;
  const double traffic = batch * (element * (m * k + n * k) + std::max(element, 2.0) * m * n);
  const double k_step = 64.0 / element;

  TileChoice best;
  for (const double split : model.splits) {
    const double k_part = blocks(gemm.k, split * k_step) * k_step;
    const double partial_sums = split > 1.0 ? 4.0 * m * n * split * batch : 0.0;
    const double fixed = model.launch_s + (split > 1.0 ? model.split_s : 0.0);
    const double memory = (traffic + partial_sums) / memory_rate;
    if (fixed + memory >= best.seconds) break;  // more splits only move more
    for (const GemmTile& tile : model.tiles) {
      const double tiles = blocks(gemm.m, tile.m) * blocks(gemm.n, tile.n) * split * batch;
      const double rate = model.efficiency * tile.quality * peak / units;
      const double area = tile.m * tile.n;
      const double one =
          2.0 * area * k_part / rate + model.tile_overhead_s * std::sqrt(area) / 128.0;
      const double compute = waves(tiles, units, model.tail) * one;
      if (fixed + compute >= best.seconds) continue;
      const double feed = tiles * (tile.m + tile.n) * k_part * element / model.l2_rate;
      const double norm = std::sqrt(
          std::sqrt(square(square(compute)) + square(square(feed)) + square(square(memory))));
      if (fixed + norm >= best.seconds) continue;
      best = {&tile, split,       tiles, one, compute, feed, memory, traffic + partial_sums,
              fixed, fixed + norm};
    }
  }
  return best;
}

/// What the pass and the clock under sustained power add to all limits.
double pass_factor(const TiledGemm& model, const Gemm& gemm) {
  const double pass = gemm.pass == GemmPass::wgrad ? model.wgrad_factor : 1.0;
  return pass * sustained_clock_factor(model.droop, flops(gemm).value);
}

double misaligned_rate(const TiledGemm& model, const Device& device, const Gemm& gemm) {
  return model.misaligned_fraction * device.peak(gemm.precision).value;
}

double tiled_time(const TiledGemm& model, const Device& device, const Gemm& gemm) {
  if (leaves_tensor_cores(gemm)) {
    return model.launch_s + flops(gemm).value / misaligned_rate(model, device, gemm);
  }
  return best_tile(model, device, gemm).seconds * pass_factor(model, gemm);
}

double flat_time(const FlatGemm& model, const Device& device, const Gemm& gemm) {
  return model.launch_s +
         flops(gemm).value / (model.efficiency * device.peak(gemm.precision).value);
}

/// Operands and result, once each.
Bytes compulsory_traffic(const Gemm& gemm) {
  const double elements = static_cast<double>(gemm.m * gemm.k + gemm.n * gemm.k + gemm.m * gemm.n);
  return {static_cast<double>(gemm.batch) * elements * bytes_per_element(gemm.precision)};
}

PriceExplanation explain_tiles(const TiledGemm& model, const Device& device, const Gemm& gemm) {
  PriceExplanation why;
  if (leaves_tensor_cores(gemm)) {
    why.model = "tiled matrix product, off the tensor cores: k or n is no multiple of 16 bytes";
    why.bytes = compulsory_traffic(gemm);
    why.limits = {
        {"launch", {model.launch_s}},
        {"vector rate", flops(gemm) / FlopsPerSecond{misaligned_rate(model, device, gemm)}}};
    return why;
  }
  const TileChoice best = best_tile(model, device, gemm);
  const double factor = pass_factor(model, gemm);
  const double filled = best.tiles / device.compute_units;
  why.model = fmt::format(
      "tiled matrix product: {:.0f} tiles of {:.0f} x {:.0f}{} in {:.2f} waves over {:.0f} units",
      best.tiles, best.tile->m, best.tile->n,
      best.split > 1.0 ? fmt::format(", k split in {:.0f},", best.split) : "", filled,
      device.compute_units);
  why.bytes = {best.traffic};
  why.limits = {{"matrix rate", {filled * best.one_tile * factor}},
                {"wave quantisation", {(best.compute - filled * best.one_tile) * factor}},
                {"operand feed", {best.feed * factor}},
                {"memory", {best.memory * factor}},
                {"launch", {best.fixed * factor}}};
  return why;
}

}  // namespace

PriceExplanation explain_price(const Device& device, const Gemm& gemm) {
  PriceExplanation why;
  if (const auto* flat = std::get_if<FlatGemm>(&device.gemm)) {
    why.model = "matrix product at one rate";
    why.bytes = compulsory_traffic(gemm);
    why.limits = {{"launch", {flat->launch_s}},
                  {"matrix rate", flops(gemm) / (flat->efficiency * device.peak(gemm.precision))}};
  } else {
    why = explain_tiles(std::get<TiledGemm>(device.gemm), device, gemm);
  }
  why.constants = "device.gemm";
  why.flop = flops(gemm);
  why.time = price(device, gemm);
  return why;
}

bool leaves_tensor_cores(const Gemm& gemm) {
  if (gemm.batch == 1 || bytes_per_element(gemm.precision) != 2.0) return false;
  return gemm.k % 8 != 0 || gemm.n % 8 != 0;
}

Flops flops(const Gemm& gemm) {
  return {2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
          static_cast<double>(gemm.k) * static_cast<double>(gemm.batch)};
}

Seconds price(const Device& device, const Gemm& gemm) {
  if (const auto* flat = std::get_if<FlatGemm>(&device.gemm)) {
    return {flat_time(*flat, device, gemm)};
  }
  return {tiled_time(std::get<TiledGemm>(device.gemm), device, gemm)};
}

}  // namespace prequel
