#include "models/plan/groups.hpp"

#include <algorithm>
#include <numeric>

namespace prequel {

RankGroup rank_group(const Plan& plan, GroupAxis axis) {
  const std::int64_t stage = plan.tp * plan.cp * plan.dp;
  const std::int64_t expert_ranks = plan.etp * plan.ep;
  switch (axis) {
    case GroupAxis::tensor: return {plan.tp, 1};
    case GroupAxis::context: return {plan.cp, plan.tp};
    // Where stages have copies, they count as neighbours, as far as those on a fabric without
    // distance.
    case GroupAxis::data: return {plan.cp * plan.replicas(), plan.tp};
    case GroupAxis::expert_tensor: return {plan.etp, 1};
    case GroupAxis::expert: return {plan.ep, plan.etp};
    case GroupAxis::expert_data:
      return {std::max<std::int64_t>(1, stage * (plan.replicas() / plan.dp) / expert_ranks),
              expert_ranks};
    case GroupAxis::pipeline: return {plan.pp, stage};
  }
  return {};
}

ShardGroups shard_groups(const Plan& plan, GroupAxis axis) {
  const RankGroup all = rank_group(plan, axis);
  if (plan.sharding_group == ShardingGroup::all) return {all, {}};
  const std::int64_t in_node = std::max<std::int64_t>(1, plan.gpus / plan.nodes / all.stride);
  const std::int64_t shards = std::gcd(all.size, in_node);
  return {{shards, all.stride}, {all.size / shards, all.stride * shards}};
}

}  // namespace prequel
