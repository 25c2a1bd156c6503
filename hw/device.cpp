#include "hw/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"

namespace prequel {

std::string_view name(Precision precision) {
  static constexpr std::array<std::string_view, kPrecisions> kNames{
      "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "fp8-block", "mxfp8"};
  return kNames[static_cast<std::size_t>(precision)];
}

FlopsPerSecond Device::peak(Precision precision) const {
  const auto stated = [this](Precision each) { return peaks[static_cast<std::size_t>(each)]; };
  if (const double value = stated(precision); value > 0.0) return {value};
  // Scales of blocks cost the tensor cores nothing, as data sheets count.
  const bool scaled = precision == Precision::fp8_block || precision == Precision::mxfp8;
  if (scaled && stated(Precision::fp8) > 0.0) return {stated(Precision::fp8)};
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (peaks[i] > 0.0) known.push_back(prequel::name(static_cast<Precision>(i)));
  }
  throw InputError(fmt::format("device {} has no {} matrix products; it has {}", name,
                               prequel::name(precision), fmt::join(known, ", ")));
}

}  // namespace prequel
