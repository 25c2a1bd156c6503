#include "hw/kernels/memory_bound.hpp"

#include <algorithm>
#include <cmath>

#include "hw/device.hpp"

namespace prequel {

std::string_view name(StreamKind kind) {
  static constexpr std::array<std::string_view, kStreamKinds> kNames{
      "fused_pointwise", "residual_add", "layer_norm",    "rms_norm",  "gelu", "swiglu", "rope",
      "embedding",       "softmax",      "cross_entropy", "optimizer", "copy"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

/// What the work of partly filled waves grows by.
double wave_factor(const StreamModel& model, double rows, double compute_units) {
  if (model.rows_per_unit <= 0.0) return 1.0;
  const double waves = rows / (compute_units * model.rows_per_unit);
  const double full = std::floor(waves);
  const double rest = waves - full;
  if (full < 1.0 || rest <= 0.0) return 1.0;
  return (full + model.last_wave + (1.0 - model.last_wave) * rest) / waves;
}

}  // namespace

Seconds price(const Device& device, const Stream& stream) {
  const StreamModel& model = device.streams[static_cast<std::size_t>(stream.kind)];
  const double rate = device.memory_rate.value;
  const double bytes = stream.bytes.value + stream.rows * model.row_overhead_bytes;
  const double cached = std::min(bytes, model.cached_bytes);
  const double transfer =
      cached / (model.cached_fraction * rate) + (bytes - cached) / (model.memory_fraction * rate);
  if (stream.rows <= 0.0 || model.row_rate <= 0.0) return {model.launch_s + transfer};
  const double one_row = stream.bytes.value / stream.rows / model.row_rate;
  const double waves = transfer * wave_factor(model, stream.rows, device.compute_units);
  return {model.launch_s + std::sqrt(std::hypot(waves * waves, one_row * one_row))};
}

Seconds host_copy_time(const Device& device, Bytes bytes) {
  return bytes / device.host_link;
}

}  // namespace prequel
