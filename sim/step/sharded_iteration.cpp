#include <algorithm>
#include <optional>

#include "models/layers/parameters.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/groups.hpp"
#include "sim/step/iteration.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Communication of one unit of sharded parameters, in seconds.
struct UnitTraffic {
  double gather{};
  double scatter{};
};

UnitTraffic unit_traffic(const Scenario& scenario, const StageParameters& parameters) {
  const Plan& plan = scenario.plan;
  const double weight_bytes = state_bytes(plan, scenario.software).gathered;
  const auto time = [&](CollectiveOp op, double bytes_per_parameter) {
    const auto of_group = [&](GroupAxis axis, double count) {
      const RankGroup group = rank_group(plan, axis);
      return collective_time(scenario.cluster, op,
                             group_shape(scenario.cluster, plan.gpus, group.size, group.stride),
                             {count * bytes_per_parameter},
                             scenario.software.communication.rank_rate_limit)
          .value;
    };
    const double dense = of_group(GroupAxis::data, parameters.dense);
    return parameters.experts > 0 ? dense + of_group(GroupAxis::expert_data, parameters.experts)
                                  : dense;
  };
  // Offloaded weights come from the host's memory each time, every rank its part.
  const double from_host =
      plan.offload == Offload::optimizer_params
          ? host_copy_time(scenario.device, {sharded_parameters(plan, parameters) * weight_bytes})
                .value
          : 0.0;
  return {from_host + time(CollectiveOp::all_gather, weight_bytes),
          time(CollectiveOp::reduce_scatter, bytes_per_element(plan.grad_precision))};
}

/// What two tasks that overlap lose: each takes longer by a share of the shorter one.
double contention(const Scenario& scenario, double compute, double communication) {
  return scenario.software.communication.overlap_contention * std::min(compute, communication);
}

ShardedTable durations(const Scenario& scenario, const ShardedShape& shape,
                       const LayerCosts& layers, const StageContent& all) {
  const Transformer& model = scenario.model;
  const auto parameters_of = [&](const StageContent& content) {
    return stage_parameters(layers.weights, model, scenario.plan, scenario.software, {content});
  };
  const StageParameters parameters = parameters_of(all);
  StageParameters root_share = parameters;

  ShardedTable table(shape.units());
  std::optional<Part> told;
  double forward{}, backward{};
  StageParameters share;
  UnitTraffic traffic;
  for (std::uint32_t unit = 0; unit < shape.layers; ++unit) {
    const Part part = part_of(model.kind_of(unit));
    if (part != told) {
      told = part;
      const StageContent block = one_block(model, unit);
      share = parameters_of(block);
      traffic = unit_traffic(scenario, share);
      forward = layers[part].forward.total();
      backward = layers[part].backward.total();
    }
    root_share.dense -= share.dense;
    root_share.experts -= share.experts;
    const double regather = shape.reshard_after_forward ? traffic.gather : 0.0;
    const double forward_loss = contention(scenario, forward, traffic.gather);
    const double backward_loss = contention(scenario, backward, regather + traffic.scatter);
    table.at(ShardedTask::forward_gather, unit) = traffic.gather + forward_loss;
    table.at(ShardedTask::forward, unit) = forward + forward_loss;
    table.at(ShardedTask::backward_gather, unit) = regather;
    table.at(ShardedTask::backward, unit) = backward + backward_loss;
    table.at(ShardedTask::reduce_scatter, unit) = traffic.scatter + backward_loss;
  }
  root_share.experts = std::max(0.0, root_share.experts);
  const UnitTraffic root = unit_traffic(scenario, root_share);
  StageContent ends = all;
  ends.parts = parts_of(model);
  for (std::uint32_t unit = 0; unit < shape.layers; ++unit) {
    --ends.parts[part_of(model.kind_of(unit))];
  }
  const ChunkCosts costs = chunk_costs(layers, ends);
  table.at(ShardedTask::forward_gather, shape.root()) = root.gather;
  table.at(ShardedTask::forward, shape.root()) = costs.forward.total();
  table.at(ShardedTask::backward, shape.root()) = costs.backward.total();
  table.at(ShardedTask::reduce_scatter, shape.root()) = root.scatter;
  table.at(ShardedTask::optimizer, shape.root()) = optimizer_time(scenario, parameters).value;
  return table;
}

}  // namespace

bool is_fully_sharded(const Plan& plan, const Software& software) {
  return plan.zero >= software.communication.fully_sharded_from_zero;
}

ShardedGame sharded_game(const Scenario& scenario) {
  return sharded_game(scenario, price_layers(scenario));
}

ShardedGame sharded_game(const Scenario& scenario, const LayerCosts& layers) {
  const ShardedShape shape{
      static_cast<std::uint32_t>(scenario.model.layers),
      static_cast<std::uint32_t>(scenario.plan.micro_batches()),
      static_cast<std::uint32_t>(scenario.software.communication.prefetch_layers),
      scenario.plan.zero == 3};
  return {shape, durations(scenario, shape, layers, whole_model(scenario.model))};
}

void play_fully_sharded(const Scenario& scenario, const LayerCosts& layers,
                        Prediction& prediction) {
  const Plan& plan = scenario.plan;
  const StageContent all = whole_model(scenario.model);
  const auto [shape, table] = sharded_game(scenario, layers);
  const ShardedResult result = run_clock(shape, table);
  const Seconds fixed = scenario.software.host.fixed_per_iteration;
  prediction.sec_per_iter = Seconds{result.seconds} + fixed;

  const ChunkCosts costs = chunk_costs(layers, all);
  PassCost passes = costs.forward;
  passes += costs.backward;
  const double m = real(plan.micro_batches());
  StagePrediction stage;
  stage.blocks = scenario.model.layers;
  stage.parts = all.parts;
  stage.forward_s = costs.forward.total();
  stage.backward_s = costs.backward.total();
  stage.recompute_s = costs.backward.recompute;
  stage.busy_s = result.computing;
  prediction.stages.push_back(stage);

  Breakdown& parts = prediction.breakdown;
  parts.compute = m * passes.compute;
  parts.recompute = m * passes.recompute;
  parts.tp_comm = m * passes.tp_comm;
  parts.cp_comm = m * passes.cp_comm;
  parts.ep_comm = m * passes.ep_comm;
  parts.host = m * passes.host;
  parts.optimizer = table.at(ShardedTask::optimizer, shape.root());
  parts.other = fixed.value;
  // All waiting is for the gathers and scatters, and so is what overlapping costs the kernels.
  parts.dp_comm = prediction.sec_per_iter.value - parts.total();
}

}  // namespace prequel
