#include "sim/step/optimizer_time.hpp"

#include <algorithm>
#include <cstdint>

#include "hw/device.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"
#include "sim/step/comm_time.hpp"

namespace prequel {
namespace {

constexpr double kPassesOfMoments = 4;  // each of two is read and written
constexpr double kMuonGatherBytes = 2;  // of an element of a momentum

/// Those that share the states of a stage share its matrices, as far as there are as many.
Seconds muon_time(const Scenario& scenario, const PerPart<Orthogonalization>& orthogonal,
                  const std::vector<StageContent>& chunks, const StageParameters& parameters) {
  const Plan& plan = scenario.plan;
  Orthogonalization all;
  for (const StageContent& chunk : chunks) {
    each_part([&](Part part) {
      const Orthogonalization& one = orthogonal[part];
      all.dense += real(chunk.parts[part]) * one.dense;
      all.experts += real(chunk.parts[part]) * one.experts;
      if (chunk.parts[part] > 0) all.largest = std::max(all.largest, one.largest);
    });
  }
  if (plan.zero == 0) return {all.dense + all.experts};
  const RankGroup dense = shard_groups(plan, GroupAxis::data).shards;
  const RankGroup experts = shard_groups(plan, GroupAxis::expert_data).shards;
  const auto gather = [&](const RankGroup& group, double count) {
    return data_collective_time(scenario, CollectiveOp::all_gather, group,
                                Bytes{count * kMuonGatherBytes})
        .all;
  };
  const StageParameters matrices = matrices_of(parameters);
  return Seconds{std::max(all.largest,
                          all.dense / real(dense.size) + all.experts / real(experts.size))} +
         gather(dense, matrices.dense) + gather(experts, matrices.experts);
}

/// Adam on the host: the node's ranks share its memory; gradients come down and parameters, unless
/// they stay there, go up, each in the precision of the passes, over one link a device. Not
/// overlapped with the passes.
Seconds offloaded_optimizer_time(const Scenario& scenario, double owned) {
  const double ranks = real(std::min(scenario.plan.gpus, scenario.cluster.devices_per_node));
  const Bytes traffic{owned * ranks * scenario.software.kernels.optimizer_traffic_bytes};
  const Seconds adam = traffic / scenario.cluster.host.memory_bandwidth;
  const double copied = scenario.plan.offload == Offload::optimizer_params ? 1.0 : 2.0;
  const Seconds copies = host_copy_time(
      scenario.device, Bytes{owned * copied * bytes_per_element(scenario.plan.precision)});
  return std::max(adam, copies);
}

}  // namespace

Seconds optimizer_time(const Scenario& scenario, const PerPart<Orthogonalization>& orthogonal,
                       const std::vector<StageContent>& chunks_of_stage,
                       const StageParameters& parameters) {
  const KernelStack& stack = scenario.software.kernels;
  const Plan& plan = scenario.plan;
  const double owned = owned_parameters(plan, parameters);
  if (plan.offload != Offload::none) return offloaded_optimizer_time(scenario, owned);
  const double moment = state_bytes(plan, scenario.software).moment;
  double traffic = owned * (stack.optimizer_traffic_bytes + kPassesOfMoments * (moment - 4.0));
  const bool muon = plan.optimizer == Optimizer::muon;
  if (muon)
    traffic -= owned_parameters(plan, matrices_of(parameters)) * kPassesOfMoments / 2 * moment;
  const double here = 1.0 - plan.optimizer_offload;
  const Seconds update =
      here * price(scenario.device, Stream{StreamKind::optimizer, {std::max(0.0, traffic)}});
  if (plan.optimizer_offload > 0) {
    return std::max(update, offloaded_optimizer_time(scenario, plan.optimizer_offload * owned));
  }
  return muon ? update + muon_time(scenario, orthogonal, chunks_of_stage, parameters) : update;
}

}  // namespace prequel
