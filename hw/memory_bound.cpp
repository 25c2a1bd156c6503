#include "hw/memory_bound.hpp"

#include <algorithm>

#include "hw/device.hpp"

namespace prequel {

std::string_view name(StreamKind kind) {
  static constexpr std::array<std::string_view, kStreamKinds> kNames{
      "fused_pointwise", "residual_add", "layer_norm",    "rms_norm",  "gelu", "swiglu", "rope",
      "embedding",       "softmax",      "cross_entropy", "optimizer", "copy"};
  return kNames[static_cast<std::size_t>(kind)];
}

Seconds price(const Device& device, const Stream& stream) {
  const StreamModel& model = device.streams[static_cast<std::size_t>(stream.kind)];
  const double rate = device.memory_rate.value;
  const double cached = std::min(stream.bytes.value, model.cached_bytes);
  const double rest = stream.bytes.value - cached;
  return {model.launch_s + cached / (model.cached_fraction * rate) +
          rest / (model.memory_fraction * rate)};
}

Seconds host_copy_time(const Device& device, Bytes bytes) {
  return bytes / device.host_link;
}

}  // namespace prequel
