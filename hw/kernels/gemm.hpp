#pragma once

/// Cost of matrix products on one device.

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "hw/kernels/rates.hpp"
#include "hw/terms/price_explanation.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// One thread-block tile of C that the library may choose.
struct GemmTile {
  double m{};
  double n{};
  double quality{1.0};  ///< of the best tile's rate; 0 … 1 but for noise of the fit
};

/// A library that cuts C into tiles, and the sum over k into splits, and runs them in waves over
/// the compute units. For a tile (tm, tn) and s splits, with P the peak and U compute units:
///
///     k'     = ceil(k / s / 32)·32                            (64 bytes in other formats)
///     tiles  = ceil(m / tm)·ceil(n / tn)·s·batch
///     tile   = 2·tm·tn·k' / (efficiency·quality·P / U) + tile_overhead·sqrt(tm·tn) / 128
///     w      = tiles / U
///     waves  = max(1, floor(w) + (frac(w) > 0 ? tail + (1 - tail)·frac(w) : 0))
///     limits = waves·tile,  operand feed / l2_rate,  traffic / (memory_fraction·HBM rate)
///     t      = launch + 4-norm of the limits + (s > 1 ? split : 0)
///     time   = min over (tile, s) of t · (1 + droop·clamp(log10(FLOP / 1e11), 0, 1.5))
///
/// The 4-norm makes limits that are close to each other add up a little; the droop is the clock
/// under sustained power. Grouped products share the waves: their tiles add up, each group's
/// matrices move once. Source: form and effects from public GEMM tables of cuBLAS on A100 to GB300
/// (the device file's origin names them).
struct TiledGemm {
  std::vector<GemmTile> tiles;
  std::vector<double> splits;  ///< of k; ascending, the first is 1
  double efficiency{};         ///< of peak, inside the main loop of the best tile
  Seconds launch{};            ///< launch and drain, without host time
  Seconds tile_overhead{};     ///< prologue and epilogue of a 128 x 128 tile
  double tail{};               ///< what a partial wave costs at least, of a full one: 0 … 1
  BytesPerSecond l2_rate{};    ///< of operands from the last-level cache
  double memory_fraction{};    ///< of the HBM rate
  Seconds split{};             ///< reduction of the partial sums
  double droop{};              ///< slow-down per decade above 1e11 FLOP
  double wgrad_factor{1.0};    ///< weight gradient (accumulating) over the forward product
  /// Bytes that a weight gradient moves for each element of the weight: 8 where it is added to one
  /// in fp32; 0: like any result.
  double gradient_bytes{};
  /// Rate, of peak, of batched products whose k or n is not a multiple of 16 bytes: the library
  /// leaves the tensor cores.
  double misaligned_fraction{1.0};
};

/// One rate for all shapes: time = launch + FLOP / (efficiency·peak). For devices whose library
/// has not been measured.
struct FlatGemm {
  double efficiency{};
  Seconds launch{};
};

using GemmModel = std::variant<TiledGemm, FlatGemm>;

/// The cost of products of many experts beside the tiles that they share.
struct GroupedModel {
  Seconds launch{};          ///< more than a single product's: reading the sizes of the groups
  Seconds group_launch{};    ///< of each group where every one has a kernel of its own
  double efficiency{1.0};    ///< of the rate that tiles of single products reach
  double memory_fraction{};  ///< of the HBM rate; 0: as single products
  // These belong to another library than single products have: its loader of operands and its
  // epilogue.
  double l2_factor{1.0};             ///< of single products' l2_rate
  double tile_overhead_factor{1.0};  ///< of single products' tile_overhead
};

/// Time of the product on an otherwise idle device, without the host's launch.
Seconds price(const GemmModel& model, const DeviceRates& rates, const Gemm& gemm);

/// The same, taken apart; `constants` stays empty.
PriceExplanation explain_price(const GemmModel& model, const DeviceRates& rates, const Gemm& gemm);

/// Time of the products of all groups, which share their rows evenly.
Seconds price(const GemmModel& model, const GroupedModel& grouped, const DeviceRates& rates,
              const GroupedGemm& product);
PriceExplanation explain_price(const GemmModel& model, const GroupedModel& grouped,
                               const DeviceRates& rates, const GroupedGemm& product);

/// The same where group i has `rows[i]` rows, maybe none; `product.groups` and `.rows` do not
/// count.
Seconds price(const GemmModel& model, const GroupedModel& grouped, const DeviceRates& rates,
              const GroupedGemm& product, std::span<const std::int64_t> rows);

/// Tests whether products of that format leave the tensor cores where their shape asks for it.
constexpr bool may_leave_tensor_cores(Precision precision) {
  return bytes_per_element(precision) == 2.0;
}
/// Tests whether the library leaves the tensor cores: a batched product in two-byte formats whose k
/// or n is not a multiple of 16 bytes (attention with an odd head size).
bool leaves_tensor_cores(const Gemm& gemm);

/// 2·m·n·k·batch.
Flops flops(const Gemm& gemm);
/// 2·rows·outputs·inputs; padding is not counted.
Flops flops(const GroupedGemm& product);

}  // namespace prequel
