#pragma once

/// Cost of a memory-bound kernel on one device.

#include <array>
#include <cstddef>
#include <string_view>

#include "hw/kernels/rates.hpp"
#include "hw/terms/price_explanation.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// Constants of one kind of kernel, with R the HBM rate:
///
///     x        = bytes + rows·row_overhead
///     transfer = min(x, cached) / (cached_fraction·R) + max(0, x - cached) / (memory_fraction·R)
///     waves    = rows / (compute units · rows_per_unit)
///     one_row  = bytes / rows / row_rate
///     t        = launch + ((transfer · full_waves(waves) / waves)⁴ + one_row⁴)^¼
///
/// The result of the kernel before is still in the last-level cache, so the first bytes can be
/// cheaper. Tensors that kernels of a chain leave to the next run at the cache's own rate where
/// the device's file states it and three such tensors fit. A kernel that gives each row to one
/// thread block takes at least as long as one block takes for one row, and the last, partly filled
/// wave of blocks costs up to a full one: full_waves(w) = ⌊w⌋ + last_wave + (1 - last_wave)·(w -
/// ⌊w⌋), but w below 1 and at whole waves. Source: form fitted to public profiles (Vidur) of A100
/// and H100; without the waves the errors of SwiGLU are 6.5 and 7.1 % (in place of 5.5 and 6.4), of
/// RMS norm 5.0 and 5.0 (4.1 and 3.7).
struct StreamModel {
  Seconds launch{};
  Bytes cached{};
  double cached_fraction{1.0};
  double memory_fraction{1.0};
  Bytes row_overhead{};
  BytesPerSecond row_rate{};  ///< of one thread block; 0: rows do not matter
  /// Rows that one compute unit works on at a time; 0: waves do not matter.
  double rows_per_unit{};
  double last_wave{};  ///< share of a full wave that a last wave of few rows costs
};

inline constexpr std::size_t kStreamKinds = static_cast<std::size_t>(StreamKind::quantize_row) + 1;
/// Indexed by StreamKind.
using StreamModels = std::array<StreamModel, kStreamKinds>;

/// The name of a kind in device files ("layer_norm").
std::string_view name(StreamKind kind);

/// The kind whose constants count for one that a device was not measured for: `quantize` for other
/// casts, else `fused_pointwise`.
StreamKind usual_kind(StreamKind kind);

/// Time of the kernel, without the host's launch.
Seconds price(const StreamModel& model, const DeviceRates& rates, const Stream& stream);

/// The same, taken apart; `constants` stays empty.
PriceExplanation explain_price(const StreamModel& model, const DeviceRates& rates,
                               const Stream& stream);

}  // namespace prequel
