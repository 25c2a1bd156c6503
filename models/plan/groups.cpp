#include "models/plan/groups.hpp"

#include <algorithm>

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

}  // namespace prequel
