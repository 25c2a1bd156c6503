#include "sim/schedule/v_min.hpp"

#include <array>

#include "sim/schedule/building_block.hpp"

namespace prequel {
namespace {

BlockTimes v_min_times(std::uint32_t stages, std::uint32_t stage) {
  // Where p is a multiple of 3 gradients would meet forwards in their slots, but for two units
  // more.
  const std::uint32_t turn = 2 * stages + (stages % 3 == 0 ? 2 : 0);
  const std::uint32_t down = stage;
  const std::uint32_t up = 2 * stages - 1 - stage;
  const std::uint32_t gradient_down = turn + stage;
  const std::uint32_t gradient_up = turn + 2 * stages - 1 - stage;
  // Weight gradients have the two slots that are left.
  std::array<bool, kBlockInterval> taken{};
  for (const std::uint32_t time : {down, up, gradient_down, gradient_up}) {
    taken[time % kBlockInterval] = true;
  }
  const auto next_free = [&](std::uint32_t time) {
    while (taken[time % kBlockInterval]) ++time;
    taken[time % kBlockInterval] = true;
    return time;
  };
  const std::uint32_t weights_down = next_free(gradient_down);
  const std::uint32_t weights_up = next_free(gradient_up);
  return {down, up, gradient_down, gradient_up, weights_down, weights_up};
}

}  // namespace

StageOrders v_min_orders(const PipelineShape& shape) {
  return block_orders(shape, v_min_times);
}

}  // namespace prequel
