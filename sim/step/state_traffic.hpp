#pragma once

/// Time of gradients and parameters on their way between ranks, hosts and memory.

#include "models/job/inputs.hpp"
#include "models/memory/memory.hpp"
#include "models/plan/groups.hpp"
#include "sim/step/comm_time.hpp"

namespace prequel {

/// Adding one micro batch's gradients of `parameters` to those before it.
Seconds accumulation_time(const Scenario& scenario, const StageParameters& parameters);

/// Kernels beside the collectives where layers are gathered one by one: on a gathered layer of
/// `element` bytes a parameter, each time, and on the gradients of those that learn when they are
/// reduced. They share the memory with the passes.
struct ShardCopyTimes {
  Seconds gather, reduce;
};
ShardCopyTimes shard_copy_times(const Scenario& scenario, const StageParameters& parameters,
                                const StageParameters& learning, double element);

/// Gradients per rank that the stack reduces together over a group of replicas; 0: it states none.
double bucket_parameters(const Scenario& scenario, GroupAxis axis);

/// Reduction of the gradients of `parameters` per rank over the data-parallel group: to all of
/// them, or with ZeRO to the rank that owns them (with hybrid sharding: to those of all nodes).
CommTime gradient_reduce_time(const Scenario& scenario, const StageParameters& parameters);

/// With ZeRO, gathering as many parameters of `element` bytes.
CommTime parameter_gather_time(const Scenario& scenario, const StageParameters& parameters,
                               double element);

/// Where host memory holds the weights: a rank's share of `parameters` on its way to the device.
Seconds offloaded_weights_time(const Scenario& scenario, const StageParameters& parameters,
                               double element);

}  // namespace prequel
