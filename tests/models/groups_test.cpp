#include "models/plan/groups.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

/// Returns a plan of 120 ranks.
Plan plan_of_all_axes() {
  Plan plan;
  plan.tp = 2;
  plan.cp = 3;
  plan.dp = 4;
  plan.pp = 5;
  plan.ep = 4;
  plan.etp = 3;
  plan.gpus = 120;
  plan.nodes = 15;
  return plan;
}

TEST_CASE("Megatron's order numbers tensor ranks first, then context, data, pipeline") {
  const Plan plan = plan_of_all_axes();
  CHECK(rank_group(plan, GroupAxis::tensor) == RankGroup{2, 1});
  CHECK(rank_group(plan, GroupAxis::context) == RankGroup{3, 2});
  CHECK(rank_group(plan, GroupAxis::data) == RankGroup{3 * 4, 2});
  CHECK(rank_group(plan, GroupAxis::pipeline) == RankGroup{5, 24});
}

TEST_CASE("experts are dealt out in an order of their own inside a stage") {
  const Plan plan = plan_of_all_axes();
  CHECK(rank_group(plan, GroupAxis::expert_tensor) == RankGroup{3, 1});
  CHECK(rank_group(plan, GroupAxis::expert) == RankGroup{4, 3});
  CHECK(rank_group(plan, GroupAxis::expert_data) == RankGroup{2, 12});
}

TEST_CASE("stages that are on two devices reduce gradients with their copies") {
  Plan plan = plan_of_all_axes();
  plan.schedule = Schedule::dualpipe;
  CHECK(rank_group(plan, GroupAxis::data) == RankGroup{3 * 8, 2});
  CHECK(rank_group(plan, GroupAxis::expert_data) == RankGroup{4, 12});
}

TEST_CASE("hybrid sharding shards over the ranks of a node and has copies beyond") {
  Plan plan = plan_of_all_axes();
  plan.sharding_group = ShardingGroup::node;
  const ShardGroups groups = shard_groups(plan, GroupAxis::data);
  CHECK(groups.shards == RankGroup{4, 2});  // 8 ranks a node, 2 of them tensor ranks
  CHECK(groups.copies == RankGroup{3, 8});
}

}  // namespace
}  // namespace prequel
