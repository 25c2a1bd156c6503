#include "sim/schedule/v_half.hpp"

#include "sim/schedule/building_block.hpp"

namespace prequel {
namespace {

/// The first time from `time` on that is `slot` in its interval.
std::uint32_t next_in_slot(std::uint32_t time, std::uint32_t slot) {
  return time + (slot + kBlockInterval - time % kBlockInterval) % kBlockInterval;
}

BlockTimes v_half_times(std::uint32_t stages, std::uint32_t stage) {
  // For even p the last gradients would meet forwards in their slots, but for half an interval
  // more.
  const std::uint32_t down = 2 * stage;
  const std::uint32_t up = 3 * stages - 2 - stage;
  const std::uint32_t gradient_down = 3 * stages - 1 + 2 * stage;
  const std::uint32_t gradient_up = 6 * stages - 2 - stage + (stages % 2 == 0 ? 3 : 0);
  // Weight gradients have the two slots that are left.
  const std::uint32_t weights_down = gradient_down + kBlockInterval / 2;
  const std::uint32_t weights_up =
      next_in_slot(gradient_up, (down + kBlockInterval / 2) % kBlockInterval);
  return {down, up, gradient_down, gradient_up, weights_down, weights_up};
}

}  // namespace

StageOrders v_half_orders(const PipelineShape& shape) {
  return block_orders(shape, v_half_times);
}

}  // namespace prequel
