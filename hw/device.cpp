#include "hw/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"

namespace prequel {

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
