#include "models/plan/gathers.hpp"

#include "models/plan/plan.hpp"
#include "models/stack/software.hpp"

namespace prequel {

bool stages_shard_gradients(std::int64_t zero, const Software& software) {
  const CommunicationStack& stack = software.communication;
  const bool by_layers = stack.sharding >= Sharding::fsdp;
  return zero >= stack.fully_sharded_from_zero && by_layers;
}

Gathers gathers_of(const Plan& plan, const Software& software) {
  const CommunicationStack& stack = software.communication;
  if (plan.zero == 0) return Gathers::never;
  if (plan.zero < stack.fully_sharded_from_zero) return Gathers::updates;
  const bool by_fsdp = stack.sharding == Sharding::fsdp || stack.sharding == Sharding::fsdp_tables;
  if (plan.pp > 1 && by_fsdp) return Gathers::once;
  return plan.zero == 3 ? Gathers::each_pass : Gathers::each_micro_batch;
}

}  // namespace prequel
