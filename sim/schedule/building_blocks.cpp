/// Schedules as *building blocks* (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory",
/// section 3): the passes of one micro batch over two chunks a device, repeated every six units of
/// time and then run as soon as possible. How long a block holds what it computed, over six, is how
/// many activations a device holds.

#include "sim/schedule/two_way.hpp"

#include <algorithm>
#include <array>

namespace prequel {
namespace {

constexpr std::uint32_t kBlockInterval = 6;  ///< passes of a micro batch on a device

/// When the passes of a micro batch over a V begin on a device: chunk 0 goes down, chunk 1 back up,
/// gradients of chunk 1 down, those of chunk 0 back up.
struct BlockTimes {
  std::uint32_t down{}, up{};
  std::uint32_t gradient_down{}, gradient_up{};
  std::uint32_t weights_down{}, weights_up{};  ///< weight gradients of chunk 1 and of chunk 0
};

/// When a pass of the first micro batch would run; those of the next follow every `kBlockInterval`.
struct BlockPass {
  std::uint32_t time{};
  StagePass pass;
};
using BuildingBlock = std::array<BlockPass, kBlockInterval>;

BuildingBlock building_block(const BlockTimes& times) {
  using enum TaskKind;
  return {{{times.down, {forward, 0}},
           {times.up, {forward, 1}},
           {times.gradient_down, {input_gradient, 1}},
           {times.gradient_up, {input_gradient, 0}},
           {times.weights_down, {weight_gradient, 1}},
           {times.weights_up, {weight_gradient, 0}}}};
}

/// The passes of `micro_batches` such blocks in order of time. A block begins with its first pass.
StageOrder repeated(const BuildingBlock& block, std::uint32_t micro_batches) {
  const auto last = std::ranges::max(block, {}, &BlockPass::time).time;
  const auto passes = [&](std::uint64_t from, std::uint64_t until) {
    std::vector<StagePass> found;
    for (std::uint64_t time = from; time < until; ++time) {
      const auto runs = [&](const BlockPass& each) {
        return time >= each.time && (time - each.time) % kBlockInterval == 0 &&
               (time - each.time) / kBlockInterval < micro_batches;
      };
      const auto pass = std::ranges::find_if(block, runs);
      if (pass != block.end()) found.push_back(pass->pass);
    }
    return found;
  };
  // From `last` on all passes repeat, until no forward is left.
  const std::uint32_t begun = (last - block.front().time + kBlockInterval - 1) / kBlockInterval;
  const std::size_t times = micro_batches > begun ? micro_batches - begun : 0;
  return {passes(0, last), passes(last, last + kBlockInterval),
          passes(last + std::uint64_t{kBlockInterval} * times,
                 last + std::uint64_t{kBlockInterval} * micro_batches),
          times};
}

/// Returns the passes of each stage in order; `times(stages, stage)` tells the block of a stage.
StageOrders block_orders(const PipelineShape& shape,
                         BlockTimes (*times)(std::uint32_t, std::uint32_t)) {
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(repeated(building_block(times(shape.stages, stage)), shape.micro_batches));
  }
  return orders;
}

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

StageOrders v_half_orders(const PipelineShape& shape) {
  return block_orders(shape, v_half_times);
}

StageOrders v_min_orders(const PipelineShape& shape) {
  return block_orders(shape, v_min_times);
}

}  // namespace prequel
