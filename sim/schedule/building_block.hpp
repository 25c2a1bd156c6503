#pragma once

/// Schedules as *building blocks* (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory",
/// section 3): the passes of one micro batch over two chunks a device, repeated every six units of
/// time and then run as soon as possible. How long a block holds what it computed, over six, is how
/// many activations a device holds.

#include <array>
#include <cstdint>

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

inline constexpr std::uint32_t kBlockInterval = 6;  ///< passes of a micro batch on a device

/// When a pass of the first micro batch would run; those of the next follow every `kBlockInterval`.
struct BlockPass {
  std::uint32_t time{};
  StagePass pass;
};
using BuildingBlock = std::array<BlockPass, kBlockInterval>;

/// The passes of `micro_batches` such blocks in order of time. A block begins with its first pass.
[[nodiscard]] StageOrder repeated(const BuildingBlock& block, std::uint32_t micro_batches);

}  // namespace prequel
