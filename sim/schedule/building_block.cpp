#include "sim/schedule/building_block.hpp"

#include <algorithm>

namespace prequel {

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

}  // namespace prequel
