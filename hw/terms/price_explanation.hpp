#pragma once

/// Why a kernel costs what it costs: the equations that priced it, taken apart.

#include <string>
#include <string_view>
#include <vector>

#include "hw/base/units.hpp"

namespace prequel {

/// The time of a kernel if nothing else held it up.
struct Limit {
  std::string_view name;  ///< "matrix rate", "memory", "launch", …
  Seconds time{};
};

struct PriceExplanation {
  std::string model;      ///< the equations, and what they chose
  std::string constants;  ///< where these are, as `--set` names it: "device.gemm"
  Flops flop{};
  Bytes bytes{};  ///< of memory traffic, or that each rank sends
  std::vector<Limit> limits;
  Seconds time{};  ///< as `price` or `collective_time` say
  /// Relative error of the model, as the file of the constants states it; 0: not stated.
  double relative_error{};

  /// The limit that alone takes the longest.
  [[nodiscard]] const Limit& binding() const;
};

}  // namespace prequel
