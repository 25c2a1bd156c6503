#pragma once

/// Which ranks of a plan form a group: the one place that knows the order of ranks. It is that of
/// Megatron-Core: tensor fastest, then context, data, pipeline; inside a stage experts have an
/// order of their own, expert-tensor fastest, then expert, then expert-data ("parallel folding",
/// arXiv 2504.14960).

#include <cstdint>

#include "models/layers/group_axis.hpp"
#include "models/plan/plan.hpp"

namespace prequel {

/// Groups of `size` ranks that are `stride` apart.
struct RankGroup {
  std::int64_t size{1};
  std::int64_t stride{1};

  auto operator<=>(const RankGroup&) const = default;
};

/// The groups of an axis, all alike.
RankGroup rank_group(const Plan& plan, GroupAxis axis);

/// The ranks of a group that share out what ZeRO shards, and those that hold the same share.
struct ShardGroups {
  RankGroup shards, copies;
};

/// Returns the groups over which data or expert-data ranks shard: all of them, or with
/// `sharding_group: node` those of each node (hybrid sharding).
ShardGroups shard_groups(const Plan& plan, GroupAxis axis);

}  // namespace prequel
