#pragma once

/// What a matrix product costs on one device.

#include <variant>
#include <vector>

#include "hw/vocabulary.hpp"

namespace prequel {

struct Device;

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
/// under sustained power. Source: form and effects from public GEMM tables of cuBLAS on A100 and
/// H100 (the device file's origin names them).
struct TiledGemm {
  std::vector<GemmTile> tiles;
  std::vector<double> splits;  ///< of k; ascending, the first is 1
  double efficiency{};         ///< of peak, inside the main loop of the best tile
  double launch_s{};           ///< launch and drain, without host time
  double tile_overhead_s{};    ///< prologue and epilogue of a 128 x 128 tile
  double tail{};               ///< what a partial wave costs at least, of a full one: 0 … 1
  double l2_rate{};            ///< byte/s of operands from the last-level cache
  double memory_fraction{};    ///< of the HBM rate
  double split_s{};            ///< reduction of the partial sums
  double droop{};              ///< slow-down per decade above 1e11 FLOP
  double wgrad_factor{1.0};    ///< weight gradient (accumulating) over the forward product
  /// Rate, of peak, of batched products whose k or n is not a multiple of 16 bytes: the library
  /// leaves the tensor cores.
  double misaligned_fraction{1.0};
};

/// One rate for all shapes: time = launch + FLOP / (efficiency·peak). For devices whose library
/// has not been measured.
struct FlatGemm {
  double efficiency{};
  double launch_s{};
};

using GemmModel = std::variant<TiledGemm, FlatGemm>;

/// Time of the product on an otherwise idle device, without the host's launch. Throws InputError
/// if the device has no such precision.
Seconds price(const Device& device, const Gemm& gemm);

/// Whether the library leaves the tensor cores: a batched product in two-byte formats whose k or n
/// is not a multiple of 16 bytes (attention with an odd head size).
bool leaves_tensor_cores(const Gemm& gemm);

/// 2·m·n·k·batch.
Flops flops(const Gemm& gemm);

}  // namespace prequel
