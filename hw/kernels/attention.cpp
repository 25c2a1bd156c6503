#include "hw/kernels/attention.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

constexpr double kBlock = 128.0;  ///< queries that one thread block works on

bool is_fp8(const FusedAttention& attention) {
  return is_quantized(attention.precision);
}

bool is_latent(const FusedAttention& attention) {
  return attention.value_size() != attention.head_dim;
}

/// Positions that a block of queries covers: fewer where heads that share keys are its rows.
double block_span(const AttentionKernel& kernel, const FusedAttention& attention) {
  const bool packed = kernel.window && !attention.backward;
  return packed ? kBlock * real(attention.kv_heads) / real(attention.heads) : kBlock;
}

/// Keys that a query sees at most, in whole blocks.
double row_length(const AttentionKernel& kernel, const FusedAttention& attention) {
  const std::int64_t all = attention.keys();
  const double keys = real(attention.chunk > 0 ? std::min(all, attention.chunk) : all);
  if (attention.window <= 0) return keys;
  return std::min(keys, real(attention.window) + block_span(kernel, attention));
}

/// Constants of one sort: two bytes or one, values as large as keys or not.
struct Sort {
  bool fp8{};
  bool latent{};

  [[nodiscard]] bool holds(const AttentionHeadSize& size) const {
    return size.fp8 == fp8 && size.latent() == latent;
  }
};

/// The sort asked for, or the nearest there is: another shape of values is nearer than another
/// format.
Sort nearest_sort(const AttentionKernel& kernel, const FusedAttention& attention) {
  const bool fp8 = is_fp8(attention);
  const bool latent = is_latent(attention);
  const std::array<Sort, 4> by_distance{Sort{fp8, latent}, Sort{fp8, !latent}, Sort{!fp8, latent},
                                        Sort{!fp8, !latent}};
  const auto found = std::ranges::find_if(by_distance, [&](Sort sort) {
    return std::ranges::any_of(kernel.head_sizes,
                               [sort](const auto& size) { return sort.holds(size); });
  });
  return found == by_distance.end() ? by_distance.front() : *found;
}

/// The measured head sizes around one, the same where there is but one side, and how far it is
/// from the first.
struct Between {
  const AttentionHeadSize* low{};
  const AttentionHeadSize* high{};
  double part{};
};

/// Latent attention by constants of plain one, and the other way round, goes by the mean size.
double size_among(Sort sort, const FusedAttention& attention) {
  const double d = real(attention.head_dim);
  return sort.latent ? d : 0.5 * (d + real(attention.value_size()));
}

Between sizes_around(const AttentionKernel& kernel, const FusedAttention& attention) {
  const Sort sort = nearest_sort(kernel, attention);
  const double d = size_among(sort, attention);
  Between between;
  for (const AttentionHeadSize& size : kernel.head_sizes) {
    if (!sort.holds(size)) continue;
    if (size.head_dim <= d) between.low = &size;
    if (size.head_dim >= d && !between.high) between.high = &size;
  }
  if (!between.low) between.low = between.high;
  if (!between.high) between.high = between.low;
  const double distance = between.high->head_dim - between.low->head_dim;
  between.part = distance > 0.0 ? (d - between.low->head_dim) / distance : 0.0;
  return between;
}

AttentionPass constants(const AttentionKernel& kernel, const FusedAttention& attention) {
  const Between between = sizes_around(kernel, attention);
  const bool backward = attention.backward;
  const AttentionPass& low = backward ? between.low->backward : between.low->forward;
  if (between.part == 0.0) return low;
  const AttentionPass& high = backward ? between.high->backward : between.high->forward;
  const double part = between.part;
  return {std::lerp(low.efficiency, high.efficiency, part),
          std::lerp(low.saturation_tokens, high.saturation_tokens, part),
          {std::lerp(low.launch.value, high.launch.value, part)},
          std::lerp(low.tail, high.tail, part),
          std::lerp(low.memory_fraction, high.memory_fraction, part),
          std::lerp(low.flop_factor, high.flop_factor, part)};
}

/// Returns the FLOP of queries that see `length` keys at most.
double flop_count(const AttentionKernel& kernel, const FusedAttention& attention, double factor,
                  double length) {
  const double keys = attention.mean_chunk();
  const double seen = attention.window > 0 ? length / keys : 1.0;
  const bool halved = attention.causal && kernel.skips_masked;
  const double pairs = real(attention.seq) * keys * (halved ? seen * (1.0 - 0.5 * seen) : seen);
  const double products = 2.0 * real(attention.batch) * real(attention.heads) *
                          real(attention.head_dim + attention.value_size());
  return products * pairs * factor;
}

double flop_count(const AttentionKernel& kernel, const FusedAttention& attention, double factor) {
  return flop_count(kernel, attention, factor, row_length(kernel, attention));
}

/// Blocks of queries of all heads.
double query_blocks(const FusedAttention& attention) {
  return real(attention.batch * attention.heads) * std::ceil(real(attention.seq) / kBlock);
}

/// q and o have all heads, k and v the key-value heads; o keeps two bytes in 8-bit kernels.
double bytes_moved(const FusedAttention& attention) {
  const double element = is_fp8(attention) ? 1.0 : 2.0;
  const double d = real(attention.head_dim);
  const double dv = real(attention.value_size());
  const double queries = real(attention.seq * attention.heads) * (element * d + 2.0 * dv);
  const double keys = real(attention.keys() * attention.kv_heads) * element * (d + dv);
  return real(attention.batch) * (queries + keys) * (attention.backward ? 2.0 : 1.0);
}

/// The terms of the equation, in seconds.
struct AttentionTerms {
  double full_rate{};      ///< all FLOP at the efficiency
  double short_rows{};     ///< what saturation adds
  double longest_block{};  ///< what the tail adds
  double traffic{};
  double launch{};

  [[nodiscard]] Seconds time() const {
    return {launch + portable::hypot(full_rate + short_rows + longest_block, traffic)};
  }
};

AttentionTerms terms_of(const AttentionKernel& kernel, const AttentionPass& pass,
                        const DeviceRates& rates, const FusedAttention& attention) {
  const double rate = pass.efficiency * rates.peak.value;
  const double full_rate = flop_count(kernel, attention, pass.flop_factor) / rate;
  const double length = row_length(kernel, attention);
  const double block = 2.0 * kBlock * real(attention.head_dim + attention.value_size()) * length;
  return {full_rate, full_rate * pass.saturation_tokens / length,
          pass.tail * block * rates.compute_units / rate,
          bytes_moved(attention) / (pass.memory_fraction * rates.memory_rate.value),
          pass.launch.value};
}

/// Returns the time that blocks and masked keys add where there is a window.
double short_rows(const AttentionKernel& kernel, const AttentionPass& pass,
                  const DeviceRates& rates, const FusedAttention& attention) {
  const double span = block_span(kernel, attention);
  const double masked = std::min(row_length(kernel, attention), kBlock + span);
  const double edges = flop_count(kernel, attention, pass.flop_factor, masked);
  const Seconds block =
      kernel.window->block * (is_fp8(attention) ? kernel.window->fp8_factor : 1.0);
  return kernel.window->edge * edges / (pass.efficiency * rates.peak.value) +
         block.value * pass.flop_factor * query_blocks(attention) / rates.compute_units;
}

/// A window never costs more than none, and one that holds all keys is none.
AttentionTerms cheapest_terms(const AttentionKernel& kernel, const AttentionPass& pass,
                              const DeviceRates& rates, const FusedAttention& attention) {
  FusedAttention whole = attention;
  whole.window = 0;
  const AttentionTerms without = terms_of(kernel, pass, rates, whole);
  if (attention.window <= 0 || attention.window >= attention.keys()) return without;
  AttentionPass windowed = pass;
  if (kernel.window) {
    // Its own constants stand for all losses on short rows.
    windowed.saturation_tokens = 0.0;
    windowed.tail = 0.0;
    windowed.launch = kernel.window->launch;
    windowed.memory_fraction = kernel.window->memory_fraction;
  }
  AttentionTerms with = terms_of(kernel, windowed, rates, attention);
  if (kernel.window) with.short_rows = short_rows(kernel, pass, rates, attention);
  return with.time() < without.time() ? with : without;
}

/// N of "flash-N…".
std::optional<int> flash_generation(std::string_view name) {
  constexpr std::string_view kFlash = "flash-";
  if (!name.starts_with(kFlash)) return std::nullopt;
  name.remove_prefix(kFlash.size());
  int generation = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), generation);
  return read.ec == std::errc{} ? std::optional{generation} : std::nullopt;
}

}  // namespace

const AttentionKernel& nearest_kernel(std::span<const AttentionKernel> kernels,
                                      std::string_view name) {
  const auto is_it = [name](const AttentionKernel& known) {
    return known.name == name || std::ranges::count(known.measured_as, name) > 0;
  };
  if (const auto found = std::ranges::find_if(kernels, is_it); found != kernels.end()) {
    return *found;
  }
  const AttentionKernel* nearest = &kernels.front();
  // A vendor's kernel is as fast as the newest that is known.
  constexpr int kNewest = 1000;
  const int generation = flash_generation(name).value_or(kNewest);
  int least = 0;
  for (const AttentionKernel& known : kernels) {
    const auto other = flash_generation(known.name);
    if (!other) continue;
    const int distance = 2 * std::abs(*other - generation) + (*other > generation ? 1 : 0);
    if (least == 0 || distance < least) {
      least = distance;
      nearest = &known;
    }
  }
  return *nearest;
}

Flops flops(const AttentionKernel& kernel, const FusedAttention& attention) {
  return {flop_count(kernel, attention, constants(kernel, attention).flop_factor)};
}

Seconds price(const AttentionKernel& kernel, const DeviceRates& rates,
              const FusedAttention& attention) {
  return cheapest_terms(kernel, constants(kernel, attention), rates, attention).time();
}

PriceExplanation explain_price(const AttentionKernel& kernel, const DeviceRates& rates,
                               const FusedAttention& attention) {
  const AttentionPass pass = constants(kernel, attention);
  const AttentionTerms terms = cheapest_terms(kernel, pass, rates, attention);
  return {"fused attention",
          {},
          {flop_count(kernel, attention, pass.flop_factor)},
          {bytes_moved(attention)},
          {{"matrix rate", {terms.full_rate}},
           {"short rows", {terms.short_rows}},
           {"longest block", {terms.longest_block}},
           {"memory", {terms.traffic}},
           {"launch", {terms.launch}}},
          terms.time()};
}

std::string stand_in(const AttentionKernel& kernel, const FusedAttention& attention) {
  std::vector<std::string> said;
  const Sort sort = nearest_sort(kernel, attention);
  if (sort.fp8 != is_fp8(attention)) {
    said.emplace_back(sort.fp8 ? "two-byte formats by 8-bit constants"
                               : "8-bit formats by two-byte constants");
  }
  const Between between = sizes_around(kernel, attention);
  const double d = size_among(sort, attention);
  if (sort.latent != is_latent(attention)) {
    said.push_back(fmt::format("head sizes {} and {} by those of equal ones", attention.head_dim,
                               attention.value_size()));
  } else if (d < between.low->head_dim || d > between.high->head_dim) {
    said.push_back(
        fmt::format("head size {} by that of {}", attention.head_dim, between.low->head_dim));
  }
  return fmt::format("{}", fmt::join(said, ", "));
}

}  // namespace prequel
