#pragma once

/// Rates of a device as models of kernels need them.

#include "hw/base/units.hpp"

namespace prequel {

struct DeviceRates {
  FlopsPerSecond peak{};  ///< of dense products in the format at hand
  double compute_units{};
  BytesPerSecond memory_rate{};
  Bytes cache{};                ///< of the last level, where it is known to be large; else 0
  BytesPerSecond cache_rate{};  ///< out of it
};

}  // namespace prequel
