#include "sim/step/state_traffic.hpp"

#include <algorithm>

#include "models/memory/state_bytes.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/overlap.hpp"

namespace prequel {
namespace {

/// Adds up what a collective of each group of parameters takes, dense ones and experts'.
template <class TimeOf>
CommTime over_groups(const StageParameters& parameters, const TimeOf& time_of) {
  CommTime time;
  if (parameters.dense > 0) time = time_of(GroupAxis::data, parameters.dense);
  if (parameters.experts > 0) time += time_of(GroupAxis::expert_data, parameters.experts);
  return time;
}

/// Tests whether every replica gets the sum of all gradients.
bool reduces_to_all(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  return plan.zero == 0 || (plan.zero == 1 && scenario.software.communication.reduces_to_all);
}

}  // namespace

Seconds accumulation_time(const Scenario& scenario, const StageParameters& parameters) {
  constexpr double kSum = 4.0;  // fp32
  if (scenario.software.memory.gradient_bytes <= kSum) return {};
  const double bytes = bytes_per_element(activation_precision(scenario.plan)) + 2 * kSum;
  return price(scenario.device, Stream{StreamKind::optimizer, {bytes * parameters.total()}});
}

ShardCopyTimes shard_copy_times(const Scenario& scenario, const StageParameters& parameters,
                                const StageParameters& learning, double element) {
  const Plan& plan = scenario.plan;
  const ShardCopies& copies = scenario.software.communication.shard_copies;
  const double gradient = bytes_per_element(activation_precision(plan));
  const double reduced = bytes_per_element(plan.grad_precision);
  const auto shared_out = [&](GroupAxis axis) {
    return shard_groups(plan, axis).shards.size > 1 ? 1.0 : 0.0;
  };
  const auto count = [&](const StageParameters& some) {
    return shared_out(GroupAxis::data) * some.dense +
           shared_out(GroupAxis::expert_data) * some.experts;
  };
  const auto time = [&](double elements, double bytes) {
    return price(scenario.device, Stream{StreamKind::copy, {elements * bytes}});
  };
  ShardCopyTimes times;
  if (count(parameters) == 0) return times;
  if (copies.gathered > 0) times.gather = time(count(parameters), copies.gathered * element);
  const double reduce = copies.gradients * gradient + copies.reduced * reduced;
  if (reduce > 0 && count(learning) > 0) times.reduce = time(count(learning), reduce);
  return times;
}

double bucket_parameters(const Scenario& scenario, GroupAxis axis) {
  // An all-reduce takes the tensors of a bucket as they lie; on the way to owners they are copied
  // together, so that fewer and larger collectives carry them.
  constexpr double kBucketsToOwners = 2;
  const CommunicationStack& stack = scenario.software.communication;
  const GradientBucket& bucket = stack.gradient_bucket;
  if (bucket.size.value > 0) {
    return (reduces_to_all(scenario) ? 1.0 : kBucketsToOwners) * bucket.size.value /
           bytes_per_element(scenario.plan.grad_precision);
  }
  if (gradient_overlap(scenario.plan, scenario.software) == GradientOverlap::none) return 0;
  const double replicas = real(rank_group(scenario.plan, axis).size);
  return std::max(bucket.parameters, bucket.of_replica * replicas);
}

CommTime gradient_reduce_time(const Scenario& scenario, const StageParameters& parameters) {
  const Plan& plan = scenario.plan;
  const double element = bytes_per_element(plan.grad_precision);
  const bool to_all = reduces_to_all(scenario);
  return over_groups(parameters, [&](GroupAxis axis, double count) {
    const Bytes bytes{count * element};
    const double bucket = bucket_parameters(scenario, axis);
    const double buckets = bucket > 0 ? std::max(1.0, count / bucket) : 1.0;
    if (to_all) {
      return buckets * data_collective_time(scenario, CollectiveOp::all_reduce,
                                            rank_group(plan, axis), bytes / buckets);
    }
    const auto [shards, copies] = shard_groups(plan, axis);
    CommTime time =
        data_collective_time(scenario, CollectiveOp::reduce_scatter, shards, bytes / buckets);
    time += data_collective_time(scenario, CollectiveOp::all_reduce, copies,
                                 bytes / (buckets * real(shards.size)));
    return buckets * time;
  });
}

CommTime parameter_gather_time(const Scenario& scenario, const StageParameters& parameters,
                               double element) {
  if (scenario.plan.zero == 0) return {};
  return over_groups(parameters, [&](GroupAxis axis, double count) {
    return data_collective_time(scenario, CollectiveOp::all_gather,
                                shard_groups(scenario.plan, axis).shards, Bytes{count * element});
  });
}

Seconds offloaded_weights_time(const Scenario& scenario, const StageParameters& parameters,
                               double element) {
  return host_copy_time(scenario.device,
                        Bytes{sharded_parameters(scenario.plan, parameters) * element});
}

}  // namespace prequel
