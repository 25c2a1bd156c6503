#include "sim/answer/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/least_time.hpp"
#include "sim/step/iteration.hpp"
#include "sim/step/plan_memory.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

void add_times(const Scenario& scenario, const LayerCosts& layers, Prediction& prediction) {
  if (is_fully_sharded(scenario)) {
    play_fully_sharded(scenario, layers, prediction);
  } else {
    play_pipeline(scenario, layers, prediction);
  }
}

void add_memory(const Scenario& scenario, const PartWeights& weights, Prediction& prediction) {
  const std::vector<std::int64_t> in_flight = chunks_in_flight(scenario.plan, scenario.software);
  const PlanMemory memory = plan_memory(scenario, weights, in_flight);
  for (std::size_t i = 0; i < prediction.stages.size(); ++i) {
    prediction.stages[i].chunks_in_flight = in_flight[i];
    prediction.stages[i].memory = memory.stages[i];
  }
  prediction.fullest_stage = memory.fullest;
  prediction.peak_memory = memory.peak;
  prediction.verdict = memory.verdict;
  if (memory.verdict == MemoryVerdict::tight) {
    prediction.warnings.emplace_back(
        "memory is tight: the allocator may have to free and retry, which can double the time");
  }
}

void warn_of_host_memory(const Scenario& scenario, Prediction& prediction) {
  double most = 0.0;
  for (const StagePrediction& stage : prediction.stages) {
    most = std::max(most, stage.memory.offloaded.value);
  }
  const Cluster& cluster = scenario.cluster;
  const double devices = real(std::min(scenario.plan.gpus, cluster.devices_per_node));
  const double node = most * devices;
  if (node <= cluster.host.memory.value) return;
  prediction.warnings.push_back(
      fmt::format("offload: a node would have to hold {:.0f} GiB in host memory, of {:.0f} GiB",
                  node / kGiB, cluster.host.memory.value / kGiB));
}

}  // namespace

double Prediction::model_flops_rate(const Plan& plan) const {
  return flops.model.value / (sec_per_iter.value * real(plan.gpus));
}

double Prediction::hardware_flops_rate(const Plan& plan) const {
  return flops.hardware.value / (sec_per_iter.value * real(plan.gpus));
}

Prediction predict(const Scenario& scenario, FlopsConvention convention) {
  return predict(scenario, price_layers(scenario), convention);
}

Prediction predict(const Scenario& scenario, const LayerCosts& layers, FlopsConvention convention) {
  const Plan& plan = scenario.plan;
  Prediction prediction;
  add_times(scenario, layers, prediction);
  add_memory(scenario, layers.weights, prediction);
  warn_of_host_memory(scenario, prediction);
  if (std::string said = contradiction(scenario.cluster); !said.empty()) {
    prediction.warnings.push_back(std::move(said));
  }
  prediction.convention = convention;
  prediction.flops =
      step_flops(scenario.model,
                 {plan.gbs, plan.seq_len,
                  padded_vocab(scenario.model.vocab, plan.tp, scenario.software.vocab_multiple),
                  plan.tp, plan.recompute, plan.attention},
                 convention);
  prediction.peak = scenario.device.peak(plan.precision);
  prediction.relative_error = scenario.software.relative_error;
  prediction.error_basis = scenario.software.error_basis;
  return prediction;
}

Seconds iteration_time(const Scenario& scenario, const LayerCosts& layers) {
  Prediction prediction;
  add_times(scenario, layers, prediction);
  return prediction.sec_per_iter;
}

Seconds least_iteration_time(const Scenario& scenario, const LayerCosts& layers) {
  const Seconds fixed = scenario.software.host.fixed_per_iteration;
  if (is_fully_sharded(scenario)) {
    const ShardedGame game = sharded_game(scenario, layers);
    return Seconds{least_seconds(game.shape, game.durations)} + fixed;
  }
  const PipelineGame game = pipeline_game(scenario, layers);
  return Seconds{least_seconds(game.kind, game.shape, game.durations)} + fixed;
}

}  // namespace prequel
