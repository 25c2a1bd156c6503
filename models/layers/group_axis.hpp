#pragma once

/// The groups of ranks over which layers are split.

#include <cstdint>

namespace prequel {

enum class GroupAxis : std::uint8_t {
  tensor,
  context,
  data,           ///< ranks that hold the same dense parameters: data and context together
  expert_tensor,  ///< share each expert's products
  expert,         ///< hold different experts
  expert_data,    ///< hold the same experts
  pipeline
};

}  // namespace prequel
