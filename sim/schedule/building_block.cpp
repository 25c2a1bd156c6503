#include "sim/schedule/building_block.hpp"

#include <algorithm>
#include <array>

namespace prequel {
namespace {

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

}  // namespace

StageOrders block_orders(const PipelineShape& shape,
                         BlockTimes (*times)(std::uint32_t, std::uint32_t)) {
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(repeated(building_block(times(shape.stages, stage)), shape.micro_batches));
  }
  return orders;
}

}  // namespace prequel
