#include <algorithm>

#include "models/layers/state_bytes.hpp"
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

UnitTraffic unit_traffic(const Scenario& scenario, double parameters) {
  const Plan& plan = scenario.plan;
  const double weight_bytes = state_bytes(plan, scenario.software).gathered;
  const GroupShape group = group_shape(scenario.cluster, plan.gpus, plan.dp, plan.tp * plan.cp);
  const auto time = [&](CollectiveOp op, double bytes_per_parameter) {
    return collective_time(scenario.cluster, op, group, {parameters * bytes_per_parameter},
                           scenario.software.communication.rank_rate_limit)
        .value;
  };
  // Offloaded weights come from the host's memory each time, every rank its part.
  const double from_host =
      plan.offload == Offload::optimizer_params
          ? host_copy_time(scenario.device, {parameters * weight_bytes / real(plan.dp)}).value
          : 0.0;
  return {from_host + time(CollectiveOp::all_gather, weight_bytes),
          time(CollectiveOp::reduce_scatter, bytes_per_element(plan.grad_precision))};
}

/// What two tasks that overlap lose: each takes longer by a share of the shorter one.
double contention(const Scenario& scenario, double compute, double communication) {
  return scenario.software.communication.overlap_contention * std::min(compute, communication);
}

StageContent whole_model(const Scenario& scenario) {
  return {scenario.model.layers, true, true};
}

ShardedTable durations(const Scenario& scenario, const ShardedShape& shape,
                       const LayerCosts& layers, const StageContent& all) {
  const Transformer& model = scenario.model;
  const double tp = real(scenario.plan.tp);
  const double layer_share = real(layer_parameters(model)) / tp;
  const double parameters = stage_parameters(model, scenario.plan, scenario.software, {all});
  const double root_share = parameters - real(model.layers) * layer_share;

  const UnitTraffic layer = unit_traffic(scenario, layer_share);
  const UnitTraffic root = unit_traffic(scenario, root_share);
  const double forward = layers.block_forward.total();
  const double backward = layers.block_backward.total();
  const double regather = shape.reshard_after_forward ? layer.gather : 0.0;
  const double forward_loss = contention(scenario, forward, layer.gather);
  const double backward_loss = contention(scenario, backward, regather + layer.scatter);

  ShardedTable table(shape.units());
  for (std::uint32_t unit = 0; unit < shape.layers; ++unit) {
    table.at(ShardedTask::forward_gather, unit) = layer.gather + forward_loss;
    table.at(ShardedTask::forward, unit) = forward + forward_loss;
    table.at(ShardedTask::backward_gather, unit) = regather;
    table.at(ShardedTask::backward, unit) = backward + backward_loss;
    table.at(ShardedTask::reduce_scatter, unit) = layer.scatter + backward_loss;
  }
  PassCost root_forward = layers.embedding_forward;
  root_forward += layers.head_forward;
  PassCost root_backward = layers.embedding_backward;
  root_backward += layers.head_backward;
  table.at(ShardedTask::forward_gather, shape.root()) = root.gather;
  table.at(ShardedTask::forward, shape.root()) = root_forward.total();
  table.at(ShardedTask::backward, shape.root()) = root_backward.total();
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
  return {shape, durations(scenario, shape, layers, whole_model(scenario))};
}

void play_fully_sharded(const Scenario& scenario, const LayerCosts& layers,
                        Prediction& prediction) {
  const Plan& plan = scenario.plan;
  const StageContent all = whole_model(scenario);
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
  stage.forward_s = costs.forward.total();
  stage.backward_s = costs.backward.total();
  stage.busy_s = result.computing;
  prediction.stages.push_back(stage);

  Breakdown& parts = prediction.breakdown;
  parts.compute = m * passes.compute;
  parts.recompute = m * passes.recompute;
  parts.tp_comm = m * passes.tp_comm;
  parts.host = m * passes.host;
  parts.optimizer = table.at(ShardedTask::optimizer, shape.root());
  parts.other = fixed.value;
  // All waiting is for the gathers and scatters, and so is what overlapping costs the kernels.
  parts.dp_comm = prediction.sec_per_iter.value - parts.total();
}

}  // namespace prequel
