#include "sim/schedule/v_min.hpp"

#include <array>

#include "sim/schedule/building_block.hpp"

namespace prequel {
namespace {

BuildingBlock building_block(std::uint32_t stages, std::uint32_t stage) {
  using enum TaskKind;
  // Chunk 0 down, chunk 1 back up; gradients of chunk 1 down, those of chunk 0 back up. Where p is
  // a multiple of 3 gradients would meet forwards in their slots, but for two units more.
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
  const std::uint32_t weights = next_free(gradient_down);
  const std::uint32_t other_weights = next_free(gradient_up);
  return {{{down, {forward, 0}},
           {up, {forward, 1}},
           {gradient_down, {input_gradient, 1}},
           {gradient_up, {input_gradient, 0}},
           {weights, {weight_gradient, 1}},
           {other_weights, {weight_gradient, 0}}}};
}

}  // namespace

StageOrders v_min_orders(const PipelineShape& shape) {
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(repeated(building_block(shape.stages, stage), shape.micro_batches));
  }
  return orders;
}

}  // namespace prequel
