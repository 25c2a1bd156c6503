#pragma once

/// What models of kernels know of the device that they run on.

#include "hw/base/units.hpp"

namespace prequel {

struct DeviceRates {
  FlopsPerSecond peak{};  ///< of dense products in the format at hand
  double compute_units{};
  BytesPerSecond memory_rate{};
};

}  // namespace prequel
