#pragma once

/// Why a kernel costs what it costs: the equations that priced it, taken apart.

#include <string>
#include <string_view>
#include <vector>

#include "hw/cluster.hpp"
#include "hw/device.hpp"

namespace prequel {

/// What a kernel would take if nothing else held it up.
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

  /// The limit that alone takes the longest.
  [[nodiscard]] const Limit& binding() const;
};

/// As `price` and `collective_time`, and with their errors.
PriceExplanation explain_price(const Device& device, const Gemm& gemm);
PriceExplanation explain_price(const Device& device, const Stream& stream);
PriceExplanation explain_price(const Device& device, const FusedAttention& attention,
                               std::string_view kernel);
PriceExplanation explain_collective(const Cluster& cluster, CollectiveOp op,
                                    const GroupShape& group, Bytes bytes);

}  // namespace prequel
