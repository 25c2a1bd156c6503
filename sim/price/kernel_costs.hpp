#pragma once

/// The kernels of which the passes over a part of a model consist, each with its price.

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/layers/parts.hpp"

namespace prequel {

/// The kind of work that a second is spent on.
enum class WorkKind : std::uint8_t {
  product,
  attention,
  stream,  ///< memory-bound kernels
  tensor_comm,
  context_comm,
  expert_comm,
  host  ///< launches that the device waits for
};

struct KernelCost {
  std::string_view name;
  double seconds{};
  WorkKind kind{};
  double hidden{};         ///< s of communication beside kernels, no part of `seconds`
  bool repeated{};         ///< computed once more in the backward pass
  bool weight_gradient{};  ///< a product that no earlier layer waits for
};
using KernelCosts = std::vector<KernelCost>;

/// The host's seconds of a pass beside what its kernels wait for.
struct HostPass {
  double launching{};  ///< `PassCost::launching`
  double beside{};     ///< `PassCost::host_beside`
};

/// In the order in which they run; the backward begins with what it repeats. Launches that the
/// device waits for come last, those for weights apart. They add up to the `PartCost`.
struct PartKernels {
  KernelCosts forward, backward;
  HostPass host_forward, host_backward;
  double copies{};  ///< `PassCost::copies`, of either pass
};
using LayerKernels = PerPart<PartKernels>;
}  // namespace prequel
