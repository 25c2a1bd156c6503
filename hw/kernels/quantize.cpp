#include "hw/kernels/quantize.hpp"

namespace prequel {
namespace {

bool looks_first(CastRecipe recipe) {
  return recipe == CastRecipe::current || recipe == CastRecipe::absmax ||
         recipe == CastRecipe::nvfp4;
}

bool scales_tensor(CastRecipe recipe) {
  return recipe == CastRecipe::delayed || recipe == CastRecipe::current ||
         recipe == CastRecipe::absmax;
}

StreamKind kind_of(CastRecipe recipe) {
  switch (recipe) {
    case CastRecipe::delayed: return StreamKind::quantize;
    case CastRecipe::current: return StreamKind::quantize_current;
    case CastRecipe::block: return StreamKind::quantize_block;
    case CastRecipe::mxfp8: return StreamKind::quantize_mxfp8;
    case CastRecipe::nvfp4: return StreamKind::quantize_nvfp4;
    case CastRecipe::absmax: return StreamKind::quantize_absmax;
    case CastRecipe::row: return StreamKind::quantize_row;
  }
  return StreamKind::quantize;
}

}  // namespace

Precision format_of(CastRecipe recipe) {
  switch (recipe) {
    case CastRecipe::block: return Precision::fp8_block;
    case CastRecipe::mxfp8: return Precision::mxfp8;
    case CastRecipe::nvfp4: return Precision::fp4;
    case CastRecipe::row: return Precision::fp8_row;
    case CastRecipe::delayed:
    case CastRecipe::current:
    case CastRecipe::absmax: break;
  }
  return Precision::fp8;
}

Bytes traffic(const Cast& cast, bool in_any_order) {
  // A scale a row stays with the row that a kernel reads; those of the other order are of columns,
  // whose largest elements another kernel looks for first.
  const bool columns = cast.recipe == CastRecipe::row && cast.both_orders;
  const double passes = columns ? 3.0 : looks_first(cast.recipe) ? 2.0 : 1.0;
  const bool one_copy = !cast.both_orders || (in_any_order && scales_tensor(cast.recipe));
  const double written = bytes_per_element(format_of(cast.recipe)) * (one_copy ? 1.0 : 2.0);
  return {cast.elements * (passes * cast.source_bytes + written)};
}

Stream stream_of(const Cast& cast, bool in_any_order) {
  return {kind_of(cast.recipe), traffic(cast, in_any_order)};
}

}  // namespace prequel
