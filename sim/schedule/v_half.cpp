#include "sim/schedule/v_half.hpp"

#include "sim/schedule/building_block.hpp"

namespace prequel {
namespace {

/// The first time from `time` on that is `slot` in its interval.
std::uint32_t next_in_slot(std::uint32_t time, std::uint32_t slot) {
  return time + (slot + kBlockInterval - time % kBlockInterval) % kBlockInterval;
}

BuildingBlock building_block(std::uint32_t stages, std::uint32_t stage) {
  using enum TaskKind;
  // Chunk 0 down, chunk 1 back up; gradients of chunk 1 down, those of chunk 0 back up. For even p
  // the last would meet forwards in their slots, but for half an interval more.
  const std::uint32_t down = 2 * stage;
  const std::uint32_t up = 3 * stages - 2 - stage;
  const std::uint32_t gradient_down = 3 * stages - 1 + 2 * stage;
  const std::uint32_t gradient_up = 6 * stages - 2 - stage + (stages % 2 == 0 ? 3 : 0);
  // Weight gradients have the two slots that are left.
  const std::uint32_t weights = gradient_down + kBlockInterval / 2;
  const std::uint32_t other_weights =
      next_in_slot(gradient_up, (down + kBlockInterval / 2) % kBlockInterval);
  return {{{down, {forward, 0}},
           {up, {forward, 1}},
           {gradient_down, {input_gradient, 1}},
           {gradient_up, {input_gradient, 0}},
           {weights, {weight_gradient, 1}},
           {other_weights, {weight_gradient, 0}}}};
}

}  // namespace

StageOrders v_half_orders(const PipelineShape& shape) {
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(repeated(building_block(shape.stages, stage), shape.micro_batches));
  }
  return orders;
}

}  // namespace prequel
