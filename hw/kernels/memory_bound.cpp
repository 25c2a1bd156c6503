#include "hw/kernels/memory_bound.hpp"

#include <algorithm>
#include <cmath>

#include "hw/base/portable_math.hpp"

namespace prequel {

std::string_view name(StreamKind kind) {
  static constexpr std::array<std::string_view, kStreamKinds> kNames{
      "fused_pointwise", "residual_add",   "layer_norm",      "rms_norm",         "gelu",
      "swiglu",          "rope",           "embedding",       "softmax",          "cross_entropy",
      "optimizer",       "copy",           "permute",         "convolution",      "streams_in",
      "streams_out",     "router",         "quantize",        "quantize_current", "quantize_block",
      "quantize_mxfp8",  "quantize_nvfp4", "quantize_absmax", "quantize_row"};
  return kNames[static_cast<std::size_t>(kind)];
}

StreamKind usual_kind(StreamKind kind) {
  return kind > StreamKind::quantize ? StreamKind::quantize : StreamKind::fused_pointwise;
}

namespace {

/// Returns the factor by which partly filled waves increase the work.
double wave_factor(const StreamModel& model, double rows, double compute_units) {
  if (model.rows_per_unit <= 0.0) return 1.0;
  const double waves = rows / (compute_units * model.rows_per_unit);
  const double full = std::floor(waves);
  const double rest = waves - full;
  if (full < 1.0 || rest <= 0.0) return 1.0;
  return (full + model.last_wave + (1.0 - model.last_wave) * rest) / waves;
}

/// Tests whether what one kernel leaves to the next is in the last-level cache still: two tensors
/// that it read and the one that it wrote.
bool fits_cache(const DeviceRates& rates, const Stream& stream) {
  constexpr double kTensors = 3;
  return stream.handed.value > 0.0 && kTensors * stream.tensor.value <= rates.cache.value;
}

/// The terms of the equation.
struct StreamTerms {
  Bytes moved{};
  Seconds transfer{};
  Seconds rows{};  ///< what rows and their waves add
};

StreamTerms stream_terms(const StreamModel& model, const DeviceRates& rates, const Stream& stream) {
  const double rate = rates.memory_rate.value;
  const double bytes = stream.bytes.value + stream.rows * model.row_overhead.value;
  const double handed = fits_cache(rates, stream) ? stream.handed.value : 0.0;
  const double cached = std::min(bytes - handed, model.cached.value);
  const double handing = handed > 0.0 ? handed / rates.cache_rate.value : 0.0;
  const double transfer = cached / (model.cached_fraction * rate) +
                          (bytes - handed - cached) / (model.memory_fraction * rate) + handing;
  if (stream.rows <= 0.0 || model.row_rate.value <= 0.0) return {{bytes}, {transfer}, {}};
  const double one_row = stream.bytes.value / stream.rows / model.row_rate.value;
  const double waves = transfer * wave_factor(model, stream.rows, rates.compute_units);
  const double both = portable::four_norm(waves, one_row);
  return {{bytes}, {transfer}, {both - transfer}};
}

}  // namespace

Seconds price(const StreamModel& model, const DeviceRates& rates, const Stream& stream) {
  const StreamTerms terms = stream_terms(model, rates, stream);
  return model.launch + (terms.transfer + terms.rows);
}

PriceExplanation explain_price(const StreamModel& model, const DeviceRates& rates,
                               const Stream& stream) {
  const StreamTerms terms = stream_terms(model, rates, stream);
  return {"memory-bound kernel",
          {},
          {},
          terms.moved,
          {{"memory", terms.transfer}, {"row by row", terms.rows}, {"launch", model.launch}},
          model.launch + (terms.transfer + terms.rows)};
}

}  // namespace prequel
