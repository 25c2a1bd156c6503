#include "sim/answer/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <variant>

#include "sim/schedule/least_time.hpp"
#include "sim/step/account.hpp"
#include "sim/step/plan_memory.hpp"

namespace prequel {
namespace {

void add_times(const Scenario& scenario, const LayerCosts& layers, Prediction& prediction) {
  const Step step = step_of(scenario, layers);
  const PlayedStep played = play(step);
  prediction.sec_per_iter = played.seconds;
  if (scenario.plan.computed_len > 0) {
    prediction.uneven = play_uneven(scenario, step);
    prediction.sec_per_iter = {prediction.uneven->seconds};
  }
  const double waiting = prediction.sec_per_iter.value - played.seconds.value;
  for (std::size_t i = 0; i < played.stages.size(); ++i) {
    StagePrediction stage;
    for (std::size_t block = i; block < step.blocks.size(); block += played.stages.size()) {
      const auto& told = step.blocks[block];
      stage.blocks += told.content.blocks;
      each_part([&](Part part) { stage.parts[part] += told.content.parts[part]; });
      stage.forward_s += told.costs.forward.total();
      stage.backward_s += told.costs.backward.total();
      stage.recompute_s += told.costs.backward.recompute;
    }
    stage.busy_s = played.stages[i].busy;
    stage.time = played.stages[i].time;
    stage.time.bubble += waiting;  // for the longest of unequal micro batches
    prediction.stages.push_back(stage);
  }
  const auto busiest = std::ranges::max_element(prediction.stages, {}, &StagePrediction::busy_s);
  prediction.slowest_stage =
      static_cast<std::size_t>(std::distance(prediction.stages.begin(), busiest));
  prediction.breakdown = busiest->time;
  prediction.hidden = played.stages[prediction.slowest_stage].hidden;
}

/// A large part that no kernel and no link explains is a quirk of where it was measured.
void warn_of_fixed_time(const Scenario& scenario, Prediction& prediction) {
  constexpr double kLarge = 0.2;  // of the step
  const double fixed =
      beside_the_passes(scenario.software.host, updated_layers(scenario.model, scenario.plan),
                        scenario.plan.pp)
          .value;
  const double share = fixed / prediction.sec_per_iter.value;
  if (share <= kLarge) return;
  prediction.warnings.push_back(fmt::format(
      "{:.0f} % of the step, {:.2g} s, is the time that {} spends beside kernels and communication "
      "in every iteration (software.host.fixed_per_iteration_s, update_per_layer_s); another "
      "release "
      "or other values would change it",
      100 * share, fixed, scenario.software.name));
}

/// Flash attention keeps no scores, so that there is little for selective recompute to free.
void warn_of_idle_recompute(const Scenario& scenario, const std::vector<InFlight>& in_flight,
                            Prediction& prediction) {
  constexpr double kLittle = 0.01;  // of the peak
  if (scenario.plan.recompute != Recompute::selective) return;
  Scenario kept = scenario;
  kept.plan.recompute = Recompute::none;
  const Bytes without = plan_memory(kept, weights_of(kept), in_flight).peak;
  if (without.value - prediction.peak_memory.value > kLittle * without.value) return;
  prediction.warnings.push_back(
      fmt::format("recompute selective: frees next to nothing with {} attention; none, full or "
                  "recompute_modules would do",
                  name(scenario.plan.attention)));
}

void add_memory(const Scenario& scenario, const PartWeights& weights, Prediction& prediction) {
  const std::vector<InFlight> in_flight = chunks_in_flight(scenario.plan, scenario.software);
  const PlanMemory memory = plan_memory(scenario, weights, in_flight);
  for (std::size_t i = 0; i < prediction.stages.size(); ++i) {
    prediction.stages[i].in_flight = in_flight[i];
    prediction.stages[i].memory = memory.stages[i];
  }
  prediction.fullest_stage = memory.fullest;
  prediction.peak_memory = memory.peak;
  prediction.verdict = memory.verdict;
  prediction.fits = memory.verdict != MemoryVerdict::oom;
  warn_of_idle_recompute(scenario, in_flight, prediction);
}

/// Launches differ more between sites than anything else a step rests on, so both ends are told
/// where the device waits for them.
void warn_of_host(const Scenario& scenario, Prediction& prediction) {
  constexpr double kLarge = 0.1;  // of the step
  const HostStack& host = scenario.software.host;
  const double share = prediction.breakdown.host / prediction.sec_per_iter.value;
  if (share <= kLarge || host.launch == Launch::blocking || host.one_launch.value <= 0) return;
  const auto seconds_with = [&](Seconds launch) {
    Scenario other = scenario;
    other.software.host.one_launch = launch;
    return iteration_time(other, price_layers(other)).value;
  };
  std::string ends;
  if (const auto& range = host.launch_range) {
    ends = fmt::format(
        "{:.4g} s a step with launches of {:.2g} us (tuned), {:.4g} s with {:.2g} us (untuned)",
        seconds_with(range->tuned), range->tuned.value * 1e6, seconds_with(range->untuned),
        range->untuned.value * 1e6);
  } else {
    // None at all would mean that the stack states the times of whole layers.
    ends = fmt::format("{:.4g} s a step if it kept ahead", seconds_with(Seconds{1e-12}));
  }
  prediction.warnings.push_back(fmt::format(
      "the host decides: the device waits {:.0f} % of the step for launches of {:.2g} us; "
      "{} (software.host.launch_s)",
      100 * share, host.one_launch.value * 1e6, ends));
}

/// On a torus neighbours matter: which ranks are neighbours, the job's mapping decides.
void warn_of_torus(const Scenario& scenario, Prediction& prediction) {
  constexpr double kLarge = 0.1;  // of the step
  const auto& fabric = scenario.cluster.fabric;
  if (!fabric || !std::holds_alternative<TorusNetwork>(fabric->description().network)) return;
  const Breakdown& time = prediction.breakdown;
  const double share = (time.dp_comm + time.tp_comm) / prediction.sec_per_iter.value;
  if (scenario.plan.nodes <= 1 || share <= kLarge) return;
  prediction.warnings.push_back(fmt::format(
      "{:.0f} % of the step is communication over the torus of {} by ranks in the order of their "
      "numbers: where groups lie decides its rate, so that another number of ranks, or ranks "
      "mapped along the torus, can change it by a factor of two",
      100 * share, scenario.cluster.name));
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

/// Parts of the model that are counted among its parameters alone.
void warn_of_parts_without_work(const Scenario& scenario, Prediction& prediction) {
  const std::int64_t others = scenario.model.other_parameters;
  if (others == 0) return;
  prediction.warnings.push_back(fmt::format(
      "other_parameters {}: neither time nor memory has them, such as a vision tower's", others));
}

/// Which constants stand in for those that the device lacks for the kernels of the plan's layers.
void warn_of_stand_ins(const Scenario& scenario, Prediction& prediction) {
  const PartCounts held = parts_of(scenario.model);
  const LayerSetting setting = layer_setting(scenario.plan);
  const auto warn = [&](std::string said) {
    if (said.empty() || std::ranges::count(prediction.warnings, said) > 0) return;
    prediction.warnings.push_back(std::move(said));
  };
  each_part([&](Part part) {
    if (held[part] == 0) return;
    const Layer layer = tell_part(part, scenario.model, setting, scenario.software);
    for (const LayerPiece& piece : layer.pieces) {
      if (const auto* linear = std::get_if<LinearLayer>(&piece.what)) {
        warn(stand_in(scenario.device, linear->precision));
      } else if (const auto* core = std::get_if<AttentionCore>(&piece.what);
                 core && core->kind == AttentionKind::flash) {
        warn(stand_in(scenario.device, core->shape, scenario.software.kernels.flash_kernel));
      }
    }
  });
}

}  // namespace

double Prediction::model_flops_rate(const Plan& plan) const {
  return flops.model.value / (sec_per_iter.value * real(plan.gpus));
}

double Prediction::hardware_flops_rate(const Plan& plan) const {
  return flops.hardware.value / (sec_per_iter.value * real(plan.gpus));
}

Bytes memory_of(const Prediction& prediction, MemoryKind kind) {
  Bytes most;
  for (const StagePrediction& stage : prediction.stages) {
    most = std::max(most, stage.memory.of(kind));
  }
  return most;
}

std::size_t logged_stage(const Prediction& prediction, const MemoryStack& stack) {
  switch (stack.logs) {
    case LoggedRank::fullest: break;
    case LoggedRank::first: return 0;
    case LoggedRank::last: return prediction.stages.size() - 1;
  }
  return prediction.fullest_stage;
}

Bytes logged_memory(const Prediction& prediction, const MemoryStack& stack, MemoryKind kind) {
  if (stack.logs == LoggedRank::fullest) return memory_of(prediction, kind);
  return prediction.stages[logged_stage(prediction, stack)].memory.of(kind);
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
  warn_of_parts_without_work(scenario, prediction);
  warn_of_stand_ins(scenario, prediction);
  warn_of_fixed_time(scenario, prediction);
  warn_of_torus(scenario, prediction);
  warn_of_host(scenario, prediction);
  for (const auto& remark : {unused_numbers, contradiction}) {
    if (std::string said = remark(scenario.cluster); !said.empty()) {
      prediction.warnings.push_back(std::move(said));
    }
  }
  prediction.convention = convention;
  prediction.flops = step_flops(scenario, convention);
  prediction.peak = scenario.device.peak(plan.precision);
  prediction.relative_error = scenario.software.relative_error;
  prediction.error_basis = scenario.software.error_basis;
  const bool has_experts = scenario.model.has_experts();
  if (was_checked_on_others(scenario.software, has_experts)) {
    prediction.relative_error = std::max(prediction.relative_error, kUnknownReleaseError);
    prediction.error_basis = fmt::format(
        "usual for another kind of model: no run of {} is among those that {} was "
        "checked on",
        has_experts ? "mixtures of experts" : "dense models", scenario.software.name);
  }
  return prediction;
}

StepFlops step_flops(const Scenario& scenario, FlopsConvention convention) {
  const Plan& plan = scenario.plan;
  const LayerSetting setting = mean_layer_setting(plan);
  return step_flops(
      scenario.model,
      {plan.gbs * plan.sequences_of_sample(), setting.seq_len,
       padded_vocab(scenario.model.vocab, plan.tp, scenario.software.vocab_multiple), plan.tp,
       plan.recompute, plan.attention, repeated_blocks(plan),
       scenario.software.kernels.recompute_stops_early, setting.seen_len, setting.learning},
      convention);
}

Seconds iteration_time(const Scenario& scenario, const LayerCosts& layers) {
  const Step step = step_of(scenario, layers);
  return Seconds{run_clock(step.schedule, step.shape, step.durations).seconds} + step.fixed;
}

Seconds least_iteration_time(const Scenario& scenario, const LayerCosts& layers) {
  const Step step = step_of(scenario, layers);
  return Seconds{least_seconds(step.schedule, step.shape, step.durations)} + step.fixed;
}

}  // namespace prequel
