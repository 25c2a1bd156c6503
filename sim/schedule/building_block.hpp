#pragma once

/// Schedules as *building blocks* (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory",
/// section 3): the passes of one micro batch over two chunks a device, repeated every six units of
/// time and then run as soon as possible. How long a block holds what it computed, over six, is how
/// many activations a device holds.

#include <cstdint>

#include "sim/schedule/stage_orders.hpp"

namespace prequel {

inline constexpr std::uint32_t kBlockInterval = 6;  ///< passes of a micro batch on a device

/// When the passes of a micro batch over a V begin on a device: chunk 0 goes down, chunk 1 back up,
/// gradients of chunk 1 down, those of chunk 0 back up.
struct BlockTimes {
  std::uint32_t down{}, up{};
  std::uint32_t gradient_down{}, gradient_up{};
  std::uint32_t weights_down{}, weights_up{};  ///< weight gradients of chunk 1 and of chunk 0
};

/// The passes of each stage in order, for any m; `times(stages, stage)` tells the block of a stage.
[[nodiscard]] StageOrders block_orders(const PipelineShape& shape,
                                       BlockTimes (*times)(std::uint32_t, std::uint32_t));

}  // namespace prequel
