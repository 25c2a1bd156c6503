#include "models/plan/gathers.hpp"

#include "models/plan/plan.hpp"
#include "models/stack/software.hpp"

namespace prequel {

bool stages_shard_gradients(std::int64_t zero, const Software& software) {
  const CommunicationStack& stack = software.communication;
  return zero >= stack.fully_sharded_from_zero && stack.sharded_stages != ShardedStages::refuse;
}

Gathers gathers_of(const Plan& plan, const Software& software) {
  const CommunicationStack& stack = software.communication;
  if (plan.zero == 0) return Gathers::never;
  if (plan.zero < stack.fully_sharded_from_zero) return Gathers::updates;
  if (plan.pp > 1 && stack.sharded_stages == ShardedStages::kept) return Gathers::once;
  return plan.zero == 3 ? Gathers::each_pass : Gathers::each_micro_batch;
}

}  // namespace prequel
