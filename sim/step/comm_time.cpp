#include "sim/step/comm_time.hpp"

namespace prequel {

GroupShape shape_of_group(const Scenario& scenario, const RankGroup& group) {
  return group_shape(scenario.cluster, scenario.plan.gpus, group.size, group.stride);
}

GroupShape shape_of_group(const Scenario& scenario, GroupAxis axis) {
  return shape_of_group(scenario, rank_group(scenario.plan, axis));
}

CommTime comm_time(const CollectivePrice& price) {
  return {price.time(), price.network};
}

CommTime data_collective_time(const Scenario& scenario, CollectiveOp op, const RankGroup& group,
                              Bytes bytes) {
  if (group.size == 1) return {};
  return comm_time(price(scenario.cluster, op, shape_of_group(scenario, group), bytes,
                         scenario.software.communication.rank_rate_limit));
}

}  // namespace prequel
