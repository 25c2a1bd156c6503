#pragma once

/// Traffic of casts to low precision. Source: what Transformer Engine's recipes read and write (its
/// documentation of low-precision training); on B300 the traffic below explains its measured layers
/// with 0.94 (delayed), 0.67 (current), 0.69 (MXFP8) and 0.59 (NVFP4) of the HBM rate.

#include <cstdint>

#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// Where the scales of a cast come from.
enum class CastRecipe : std::uint8_t {
  delayed,  ///< one a tensor, from earlier steps
  current,  ///< one a tensor, from a first pass over it
  block,    ///< 1 x 128 elements; 128 x 128 of weights
  mxfp8,    ///< 32 elements
  nvfp4,    ///< 16 elements and one a tensor, from a first pass over it
  absmax,   ///< as `current`, by two plain kernels
  row       ///< one a row
};

/// One tensor cast for the products that use it.
struct Cast {
  CastRecipe recipe{};
  double elements{};
  /// Bytes of an element that is read; 0 where the kernel that computes it casts it too.
  double source_bytes{2.0};
  /// True where a product sums over the other dimension too (inputs and output gradients, for the
  /// weight gradient; weights, for the input's).
  bool both_orders{true};
};

/// The format of the result.
Precision format_of(CastRecipe recipe);

/// Bytes read and written: the source once, twice where a first pass looks for the largest element;
/// the result once for each order, but once for both where one scale a tensor meets tensor cores
/// that take 8-bit operands `in_any_order` (Blackwell, not Hopper). Scales of rows in both orders
/// are those of rows and of columns: two kernels, of which the second looks first.
Bytes traffic(const Cast& cast, bool in_any_order);

/// The kernel that it is, of the recipe's kind.
Stream stream_of(const Cast& cast, bool in_any_order);

}  // namespace prequel
