#include "hw/kernels/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

/// Ceiling of a/b for whole a and b, a not negative.
double blocks(std::int64_t a, double b) {
  const auto size = static_cast<std::int64_t>(b);
  return real((a + size - 1) / size);
}

double square(double x) {
  return x * x;
}

/// Elements of 64 bytes, without scales: what the main loop takes at a time.
double step_of_k(Precision precision) {
  if (precision == Precision::fp4) return 128.0;
  return is_quantized(precision) ? 64.0 : 64.0 / bytes_per_element(precision);
}

/// Products of one n and k whose matrices C have `rows`, each of them `times`.
struct Problem {
  std::span<const std::int64_t> rows;
  double times{1.0};
  std::int64_t n{};
  std::int64_t k{};
  Precision precision{};
  GemmPass pass{};

  /// Blocks of rows of all products.
  [[nodiscard]] double row_blocks(double size) const {
    double sum = 0.0;
    for (const std::int64_t each : rows) sum += blocks(each, size);
    return sum * times;
  }
  [[nodiscard]] double all_rows() const {
    double sum = 0.0;
    for (const std::int64_t each : rows) sum += real(each);
    return sum * times;
  }
  /// That have rows at all.
  [[nodiscard]] double products() const {
    return static_cast<double>(rows.size() -
                               static_cast<std::size_t>(std::ranges::count(rows, 0))) *
           times;
  }
};

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
  return 1.0 + droop * std::min(portable::log10(flop / 1e11), 1.5);
}

/// Both operands and the result of every product, once each.
double traffic_of(const Problem& problem, double gradient_bytes) {
  const double element = bytes_per_element(problem.precision);
  const double result = problem.pass == GemmPass::wgrad && gradient_bytes > 0.0
                            ? gradient_bytes
                            : std::max(element, 2.0);
  const double m = problem.all_rows();
  const double n = real(problem.n);
  const double k = real(problem.k);
  return element * (m * k + problem.products() * n * k) + result * m * n;
}

/// The library's presumed choice and the limits that follow; all in seconds but the counts.
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

/// The constants in which single and grouped products differ.
struct Setting {
  double efficiency{};
  double memory_fraction{};
  Seconds launch{};
  BytesPerSecond l2_rate{};
  Seconds tile_overhead{};
};

Setting single_setting(const TiledGemm& model) {
  return {model.efficiency, model.memory_fraction, model.launch, model.l2_rate,
          model.tile_overhead};
}

Seconds more_launch(const GroupedModel& grouped, const GroupedGemm& product, double groups) {
  return grouped.launch + (product.one_launch ? Seconds{} : grouped.group_launch * groups);
}

Setting grouped_setting(const TiledGemm& model, const GroupedModel& grouped,
                        const GroupedGemm& product, double groups) {
  const double of_memory =
      grouped.memory_fraction > 0.0 ? grouped.memory_fraction : model.memory_fraction;
  return {model.efficiency * grouped.efficiency, of_memory,
          model.launch + more_launch(grouped, product, groups), model.l2_rate * grouped.l2_factor,
          model.tile_overhead * grouped.tile_overhead_factor};
}

/// The cost of a tile whatever the split.
struct TileCost {
  const GemmTile* tile{};
  double tiles{};      ///< without a split
  double flop_of_k{};  ///< FLOP of one tile for each element of k
  double rate{};       ///< of one compute unit, FLOP/s
  double overhead{};   ///< s of one tile
};

TileChoice best_tile(const TiledGemm& model, const Setting& setting, const DeviceRates& rates,
                     const Problem& problem) {
  const double units = rates.compute_units;
  const double element = bytes_per_element(problem.precision);
  const auto n = real(problem.n);
  const double m = problem.all_rows();
  const double memory_rate = setting.memory_fraction * rates.memory_rate.value;
  const double traffic = traffic_of(problem, model.gradient_bytes);
  const double k_step = step_of_k(problem.precision);

  std::vector<TileCost> costs;
  costs.reserve(model.tiles.size());
  for (const GemmTile& tile : model.tiles) {
    const double area = tile.m * tile.n;
    costs.push_back({&tile, problem.row_blocks(tile.m) * blocks(problem.n, tile.n), 2.0 * area,
                     std::min(1.0, setting.efficiency * tile.quality) * rates.peak.value / units,
                     setting.tile_overhead.value * std::sqrt(area) / 128.0});
  }

  TileChoice best;
  for (const double split : model.splits) {
    const double k_part = blocks(problem.k, split * k_step) * k_step;
    const double partial_sums = split > 1.0 ? 4.0 * m * n * split : 0.0;
    const double fixed = setting.launch.value + (split > 1.0 ? model.split.value : 0.0);
    const double memory = (traffic + partial_sums) / memory_rate;
    if (fixed + memory >= best.seconds) break;  // more splits only move more
    for (const TileCost& cost : costs) {
      const GemmTile& tile = *cost.tile;
      const double tiles = cost.tiles * split;
      const double one = cost.flop_of_k * k_part / cost.rate + cost.overhead;
      const double compute = waves(tiles, units, model.tail) * one;
      if (fixed + compute >= best.seconds) continue;
      const double feed = tiles * (tile.m + tile.n) * k_part * element / setting.l2_rate.value;
      const double norm = std::sqrt(
          std::sqrt(square(square(compute)) + square(square(feed)) + square(square(memory))));
      if (fixed + norm >= best.seconds) continue;
      best = {&tile, split,       tiles, one, compute, feed, memory, traffic + partial_sums,
              fixed, fixed + norm};
    }
  }
  return best;
}

/// Returns the factor that the pass and the clock under sustained power put on all limits.
double pass_factor(const TiledGemm& model, GemmPass pass, Flops flop) {
  const double factor = pass == GemmPass::wgrad ? model.wgrad_factor : 1.0;
  return factor * sustained_clock_factor(model.droop, flop.value);
}

/// The equation of TiledGemm, with what it chose.
struct TiledPrice {
  TileChoice choice;
  double factor{1.0};  ///< that all limits grow by

  [[nodiscard]] Seconds time() const { return {choice.seconds * factor}; }
};

TiledPrice price_tiles(const TiledGemm& model, const Setting& setting, const DeviceRates& rates,
                       const Problem& problem, Flops flop) {
  return {best_tile(model, setting, rates, problem), pass_factor(model, problem.pass, flop)};
}

PriceExplanation explain_tiles(const TiledPrice& price, const DeviceRates& rates, Flops flop) {
  const TileChoice& best = price.choice;
  const double factor = price.factor;
  const double filled = best.tiles / rates.compute_units;
  PriceExplanation why;
  why.model = fmt::format(
      "tiled matrix product: {:.0f} tiles of {:.0f} x {:.0f}{} in {:.2f} waves over {:.0f} units",
      best.tiles, best.tile->m, best.tile->n,
      best.split > 1.0 ? fmt::format(", k split in {:.0f},", best.split) : "", filled,
      rates.compute_units);
  why.flop = flop;
  why.bytes = {best.traffic};
  why.limits = {{"matrix rate", {filled * best.one_tile * factor}},
                {"wave quantisation", {(best.compute - filled * best.one_tile) * factor}},
                {"operand feed", {best.feed * factor}},
                {"memory", {best.memory * factor}},
                {"launch", {best.fixed * factor}}};
  why.time = price.time();
  return why;
}

/// A launch and one rate, one after the other.
PriceExplanation explain_rate(const char* model, std::string_view limit, Seconds launch, Flops flop,
                              Bytes bytes, FlopsPerSecond rate) {
  const Seconds arithmetic = flop / rate;
  return {model, {}, flop, bytes, {{"launch", launch}, {limit, arithmetic}}, launch + arithmetic};
}

constexpr const char* kMisaligned =
    "tiled matrix product, off the tensor cores: k or n is no multiple of 16 bytes";
constexpr const char* kFlat = "matrix product at one rate";

Problem problem_of(const Gemm& gemm) {
  return {{&gemm.m, 1}, real(gemm.batch), gemm.n, gemm.k, gemm.precision, gemm.pass};
}

std::int64_t padded(std::int64_t rows, std::int64_t padding) {
  return (rows + padding - 1) / padding * padding;
}

/// `groups` products with the same padded rows, or the problems of groups with rows of their own.
/// The rows of a group are those of C or, in weight gradients, what the product sums over.
Problem problem_of(const GroupedGemm& product, std::span<const std::int64_t> rows, double times) {
  switch (product.pass) {
    case GemmPass::forward:
      return {rows, times, product.outputs, product.inputs, product.precision, product.pass};
    case GemmPass::dgrad:
      return {rows, times, product.inputs, product.outputs, product.precision, product.pass};
    case GemmPass::wgrad: break;
  }
  Problem lined_up{rows, times, 0, 0, product.precision, product.pass};
  const double groups = lined_up.products();
  const auto mean = static_cast<std::int64_t>(std::ceil(lined_up.all_rows() / groups));
  return {{&product.outputs, 1}, groups, product.inputs, mean, product.precision, product.pass};
}

/// As priced: with the rows that fill groups up.
Flops padded_flops(const Problem& problem) {
  return {2.0 * problem.all_rows() * real(problem.n) * real(problem.k)};
}

Seconds price(const GemmModel& model, const GroupedModel& grouped, const DeviceRates& rates,
              const GroupedGemm& product, const Problem& problem) {
  const Flops flop = padded_flops(problem);
  const double groups = problem.products();
  if (const auto* flat = std::get_if<FlatGemm>(&model)) {
    return flat->launch + more_launch(grouped, product, groups) +
           flop / (flat->efficiency * grouped.efficiency * rates.peak);
  }
  const auto& tiled = std::get<TiledGemm>(model);
  return price_tiles(tiled, grouped_setting(tiled, grouped, product, groups), rates, problem, flop)
      .time();
}

/// Groups that have rows when `product.rows` are shared evenly, and how many each has.
struct EvenGroups {
  double groups{};
  std::int64_t rows{};
};

EvenGroups even_groups(const GroupedGemm& product) {
  const std::int64_t groups = std::min(product.groups, product.rows);
  return {real(groups), padded((product.rows + groups - 1) / groups, product.padding)};
}

}  // namespace

Seconds price(const GemmModel& model, const DeviceRates& rates, const Gemm& gemm) {
  const Flops flop = flops(gemm);
  if (const auto* flat = std::get_if<FlatGemm>(&model)) {
    return flat->launch + flop / (flat->efficiency * rates.peak);
  }
  const auto& tiled = std::get<TiledGemm>(model);
  if (leaves_tensor_cores(gemm)) {
    return tiled.launch + flop / (tiled.misaligned_fraction * rates.peak);
  }
  return price_tiles(tiled, single_setting(tiled), rates, problem_of(gemm), flop).time();
}

PriceExplanation explain_price(const GemmModel& model, const DeviceRates& rates, const Gemm& gemm) {
  const Flops flop = flops(gemm);
  const Problem problem = problem_of(gemm);
  const Bytes compulsory{traffic_of(problem, 0.0)};
  if (const auto* flat = std::get_if<FlatGemm>(&model)) {
    return explain_rate(kFlat, "matrix rate", flat->launch, flop, compulsory,
                        flat->efficiency * rates.peak);
  }
  const auto& tiled = std::get<TiledGemm>(model);
  if (leaves_tensor_cores(gemm)) {
    return explain_rate(kMisaligned, "vector rate", tiled.launch, flop, compulsory,
                        tiled.misaligned_fraction * rates.peak);
  }
  return explain_tiles(price_tiles(tiled, single_setting(tiled), rates, problem, flop), rates,
                       flop);
}

Seconds price(const GemmModel& model, const GroupedModel& grouped, const DeviceRates& rates,
              const GroupedGemm& product) {
  const EvenGroups even = even_groups(product);
  return price(model, grouped, rates, product, problem_of(product, {&even.rows, 1}, even.groups));
}

Seconds price(const GemmModel& model, const GroupedModel& grouped, const DeviceRates& rates,
              const GroupedGemm& product, std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> filled(rows.begin(), rows.end());
  for (std::int64_t& each : filled) each = padded(each, product.padding);
  return price(model, grouped, rates, product, problem_of(product, filled, 1.0));
}

PriceExplanation explain_price(const GemmModel& model, const GroupedModel& grouped,
                               const DeviceRates& rates, const GroupedGemm& product) {
  const EvenGroups even = even_groups(product);
  const Problem problem = problem_of(product, {&even.rows, 1}, even.groups);
  const Flops flop = padded_flops(problem);
  if (const auto* flat = std::get_if<FlatGemm>(&model)) {
    return explain_rate(
        kFlat, "matrix rate", flat->launch + more_launch(grouped, product, even.groups), flop,
        {traffic_of(problem, 0.0)}, flat->efficiency * grouped.efficiency * rates.peak);
  }
  const auto& tiled = std::get<TiledGemm>(model);
  const Setting setting = grouped_setting(tiled, grouped, product, even.groups);
  PriceExplanation why =
      explain_tiles(price_tiles(tiled, setting, rates, problem, flop), rates, flop);
  why.model = fmt::format("{:.0f} groups, {}", even.groups, why.model);
  return why;
}

bool leaves_tensor_cores(const Gemm& gemm) {
  if (gemm.batch == 1 || !may_leave_tensor_cores(gemm.precision)) return false;
  return gemm.k % 8 != 0 || gemm.n % 8 != 0;
}

Flops flops(const Gemm& gemm) {
  return {2.0 * real(gemm.m) * real(gemm.n) * real(gemm.k) * real(gemm.batch)};
}

Flops flops(const GroupedGemm& product) {
  return {2.0 * real(product.rows) * real(product.outputs) * real(product.inputs)};
}

}  // namespace prequel
