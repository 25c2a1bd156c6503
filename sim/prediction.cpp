#include "sim/prediction.hpp"

#include <algorithm>
#include <iterator>

#include "sim/iteration.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

void judge_memory(const Scenario& scenario, Prediction& prediction) {
  const auto fullest = std::max_element(
      prediction.stages.begin(), prediction.stages.end(),
      [](const auto& a, const auto& b) { return a.memory.total() < b.memory.total(); });
  prediction.fullest_stage =
      static_cast<std::size_t>(std::distance(prediction.stages.begin(), fullest));
  prediction.peak_memory = printed_peak(fullest->memory, scenario.device, scenario.software);
  prediction.verdict = memory_verdict(fullest->memory, scenario.device);
  if (prediction.verdict == MemoryVerdict::tight) {
    prediction.warnings.emplace_back(
        "memory is tight: the allocator may have to free and retry, which can double the time");
  }
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
  if (is_fully_sharded(scenario)) {
    play_fully_sharded(scenario, layers, prediction);
  } else {
    play_pipeline(scenario, layers, prediction);
  }
  judge_memory(scenario, prediction);
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

}  // namespace prequel
