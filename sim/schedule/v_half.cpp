#include "sim/schedule/v_half.hpp"

#include <algorithm>
#include <array>

namespace prequel {
namespace {

constexpr std::uint32_t kInterval = 6;  // passes of a micro batch on a device

/// When a pass of the first micro batch would run; those of the next follow every `kInterval`.
struct BlockPass {
  std::uint32_t time{};
  StagePass pass;
};
using BuildingBlock = std::array<BlockPass, kInterval>;

/// The first time from `time` on that is `slot` in its interval.
std::uint32_t next_in_slot(std::uint32_t time, std::uint32_t slot) {
  return time + (slot + kInterval - time % kInterval) % kInterval;
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
  const std::uint32_t weights = gradient_down + kInterval / 2;
  const std::uint32_t other_weights = next_in_slot(gradient_up, (down + kInterval / 2) % kInterval);
  return {{{down, {forward, 0}},
           {up, {forward, 1}},
           {gradient_down, {input_gradient, 1}},
           {gradient_up, {input_gradient, 0}},
           {weights, {weight_gradient, 1}},
           {other_weights, {weight_gradient, 0}}}};
}

/// The passes of `micro_batches` such blocks in order of time.
StageOrder repeated(const BuildingBlock& block, std::uint32_t micro_batches) {
  const auto last = std::ranges::max(block, {}, &BlockPass::time).time;
  const auto passes = [&](std::uint64_t from, std::uint64_t until) {
    std::vector<StagePass> found;
    for (std::uint64_t time = from; time < until; ++time) {
      const auto runs = [&](const BlockPass& each) {
        return time >= each.time && (time - each.time) % kInterval == 0 &&
               (time - each.time) / kInterval < micro_batches;
      };
      const auto pass = std::ranges::find_if(block, runs);
      if (pass != block.end()) found.push_back(pass->pass);
    }
    return found;
  };
  // From `last` on all passes repeat, until no forward is left.
  const std::uint32_t begun = (last - block.front().time + kInterval - 1) / kInterval;
  const std::size_t times = micro_batches > begun ? micro_batches - begun : 0;
  return {passes(0, last), passes(last, last + kInterval),
          passes(last + std::uint64_t{kInterval} * times,
                 last + std::uint64_t{kInterval} * micro_batches),
          times};
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
