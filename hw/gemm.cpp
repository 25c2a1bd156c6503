#include "hw/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hw/device.hpp"

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

double tiled_time(const TiledGemm& model, const Device& device, const Gemm& gemm) {
  const double peak = device.peak(gemm.precision).value;
  const double units = device.compute_units;
  const double element = bytes_per_element(gemm.precision);
  const double flop = flops(gemm).value;
  if (leaves_tensor_cores(gemm)) return model.launch_s + flop / (model.misaligned_fraction * peak);

  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  const auto batch = static_cast<double>(gemm.batch);
  const double memory_rate = model.memory_fraction * device.memory_rate.value;
  const double traffic = batch * (element * (m * k + n * k) + std::max(element, 2.0) * m * n);
  const double k_step = 64.0 / element;

  double best = std::numeric_limits<double>::max();
  for (const double split : model.splits) {
    const double k_part = blocks(gemm.k, split * k_step) * k_step;
    const double partial_sums = split > 1.0 ? 4.0 * m * n * split * batch : 0.0;
    const double fixed = model.launch_s + (split > 1.0 ? model.split_s : 0.0);
    const double memory = (traffic + partial_sums) / memory_rate;
    if (fixed + memory >= best) break;  // more splits only move more
    for (const GemmTile& tile : model.tiles) {
      const double tiles = blocks(gemm.m, tile.m) * blocks(gemm.n, tile.n) * split * batch;
      const double rate = model.efficiency * tile.quality * peak / units;
      const double area = tile.m * tile.n;
      const double one =
          2.0 * area * k_part / rate + model.tile_overhead_s * std::sqrt(area) / 128.0;
      const double compute = waves(tiles, units, model.tail) * one;
      if (fixed + compute >= best) continue;
      const double feed = tiles * (tile.m + tile.n) * k_part * element / model.l2_rate;
      const double norm = std::sqrt(
          std::sqrt(square(square(compute)) + square(square(feed)) + square(square(memory))));
      best = std::min(best, fixed + norm);
    }
  }
  const double pass = gemm.pass == GemmPass::wgrad ? model.wgrad_factor : 1.0;
  return best * pass * sustained_clock_factor(model.droop, flop);
}

double flat_time(const FlatGemm& model, const Device& device, const Gemm& gemm) {
  return model.launch_s +
         flops(gemm).value / (model.efficiency * device.peak(gemm.precision).value);
}

}  // namespace

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
