#include "hw/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"

namespace prequel {

std::string_view name(Precision precision) {
  static constexpr std::array<std::string_view, kPrecisions> kNames{"fp32", "tf32", "fp16", "bf16",
                                                                    "fp8"};
  return kNames[static_cast<std::size_t>(precision)];
}

FlopsPerSecond Device::peak(Precision precision) const {
  const double value = peaks[static_cast<std::size_t>(precision)];
  if (value > 0.0) return {value};
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (peaks[i] > 0.0) known.push_back(prequel::name(static_cast<Precision>(i)));
  }
  throw InputError(fmt::format("device {} has no {} matrix products; it has {}", name,
                               prequel::name(precision), fmt::join(known, ", ")));
}

}  // namespace prequel
