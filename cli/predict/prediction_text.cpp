#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/predict/prediction_format.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/text/spread_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/portable_math.hpp"
#include "hw/base/unit_text.hpp"
#include "sim/answer/exposure.hpp"

namespace prequel {
namespace {

std::string seconds(double value) {
  if (value >= 100) return fmt::format("{:.1f} s", value);
  if (value >= 1) return fmt::format("{:.2f} s", value);
  return fmt::format("{:.1f} ms", value * 1e3);
}

std::string difference(double predicted, double measured) {
  return fmt::format("{:+.1f} %", 100 * (predicted / measured - 1));
}

std::string heading(const Scenario& scenario, const Terminal& terminal) {
  const Plan& plan = scenario.plan;
  const std::int64_t per_node = scenario.cluster.devices_per_node;
  const std::string where =
      plan.gpus < per_node
          ? fmt::format("{} of a node's {}", plan.gpus, per_node)
          : fmt::format("{} node{} x {}", plan.nodes, plan.nodes == 1 ? "" : "s", per_node);
  const std::string text =
      fmt::format("{} on {} {} ({}), {}", scenario.model.name, where, scenario.device.name,
                  scenario.cluster.name, scenario.software.name);
  const std::size_t width = terminal.at_most(1000);
  return inked(terminal, Ink::bold, wrapped(text, width, "  ")) + "\n" +
         wrapped(plan_text(scenario), width, "  ") + "\n";
}

Ink ink(MemoryVerdict verdict) {
  switch (verdict) {
    case MemoryVerdict::fits: return Ink::green;
    case MemoryVerdict::tight: return Ink::yellow;
    case MemoryVerdict::oom: return Ink::red;
  }
  return Ink::bold;
}

/// Beyond a factor of 1.5 a percentage would reach below nothing.
bool is_factor(double error) {
  return error > 0.5;
}

std::string time_with_error(double step, double error) {
  if (!is_factor(error)) return fmt::format("{:.2f} s ± {:.0f} %", step, 100 * error);
  return fmt::format("{:.2f} s, {:.1f} times more or less", step, portable::exp(error));
}

/// Returns whose error stands beside the time: the one of the stack's runs, or of this plan where
/// these say too little of it. The interval below is of this plan in any case.
std::string error_text(const Scenario& scenario, const Prediction& prediction) {
  const double error = prediction.relative_error;
  const std::string stated = is_factor(error) ? fmt::format("{:.1f} times", portable::exp(error))
                                              : fmt::format("± {:.0f} %", 100 * error);
  return stated +
         (error > scenario.software.relative_error || !scenario.edited.empty()
              ? " is to be expected of this plan: "
              : fmt::format(" is what {} states of all its runs: ", scenario.software.name)) +
         prediction.error_basis;
}

std::string headline(const Scenario& scenario, const Prediction& prediction,
                     const std::optional<Measured>& measured, const Terminal& terminal) {
  const Plan& plan = scenario.plan;
  const double step = prediction.sec_per_iter.value;
  const double model_rate = prediction.model_flops_rate(plan);
  const double hardware_rate = prediction.hardware_flops_rate(plan);
  const double samples = static_cast<double>(plan.gbs) / step;
  const bool compared = measured.has_value();
  TextTable table(compared ? std::vector<std::string>{"", "predicted", "measured", "difference"}
                           : std::vector<std::string>{"", "predicted"});
  const auto add = [&](std::string what, std::string value, std::optional<double> was,
                       double number, const char* unit) {
    std::vector<std::string> row{std::move(what), std::move(value)};
    if (compared && was) {
      row.push_back(fmt::format("{:.2f} {}", *was, unit));
      row.push_back(difference(number, *was));
    }
    table.add(std::move(row));
  };
  add("time per iteration", time_with_error(step, prediction.relative_error),
      compared && measured->sec_per_iter ? std::optional(measured->sec_per_iter->value)
                                         : std::nullopt,
      step, "s");
  add("throughput", fmt::format("{:.2f} samples/s", samples), {}, 0, "");
  const double tokens = samples * static_cast<double>(plan.seq_len);
  add("",
      fmt::format("{:.0f} tokens/s, {:.0f} a GPU", tokens, tokens / static_cast<double>(plan.gpus)),
      {}, 0, "");
  add("model FLOPs per GPU", fmt::format("{:.1f} TFLOP/s", model_rate / kTera), {}, 0, "");
  add("hardware FLOPs per GPU", fmt::format("{:.1f} TFLOP/s", hardware_rate / kTera),
      compared ? measured->tflops_per_gpu : std::nullopt, hardware_rate / kTera, "TFLOP/s");
  add("MFU", fmt::format("{:.1f} %", 100 * model_rate / prediction.peak.value), {}, 0, "");
  add("HFU", fmt::format("{:.1f} %", 100 * hardware_rate / prediction.peak.value), {}, 0, "");
  add("peak memory",
      fmt::format("{} of {} GiB, {}", gib_text(prediction.peak_memory),
                  gib_text(scenario.device.memory),
                  inked(terminal, ink(prediction.verdict), std::string(name(prediction.verdict)))),
      compared ? measured->memory_gib : std::nullopt, prediction.peak_memory.value / kGiB, "GiB");
  const std::size_t width = terminal.at_most(1000);
  const std::string flops = fmt::format("FLOPs counted as \"{}\", of a peak of {:.0f} TFLOP/s ({})",
                                        name(prediction.convention), prediction.peak.value / kTera,
                                        name(plan.precision)) +
                            (prediction.convention == FlopsConvention::prequel
                                 ? "; attention in full, where Megatron-Bridge and NeMo count its "
                                   "causal half (--flops causal)"
                                 : "");
  return table.text(terminal.width) + "  " + wrapped(flops, width - 2, "    ") + "\n  " +
         wrapped(error_text(scenario, prediction), width - 2, "    ") + "\n";
}

/// Returns the communication that hides behind kernels, and why the rest is exposed.
std::string communication_text(const Scenario& scenario, const Prediction& prediction,
                               const Terminal& terminal) {
  const HiddenTime& hidden = prediction.hidden;
  const std::pair<const char*, double> rows[] = {
      {"tp comm", hidden.tp_comm}, {"cp comm", hidden.cp_comm}, {"ep comm", hidden.ep_comm},
      {"pp comm", hidden.pp_comm}, {"dp comm", hidden.dp_comm}, {"offload", hidden.offload}};
  std::string text;
  for (const auto& [label, value] : rows) {
    if (value < 1e-3 * prediction.sec_per_iter.value) continue;
    text += fmt::format("{}{} {}", text.empty() ? "hidden: " : ", ", label, seconds(value));
  }
  if (!text.empty()) text = "  " + wrapped(text, terminal.at_most(100), "    ") + "\n";
  for (const Exposure& exposure : exposures(scenario, prediction)) {
    std::string part(exposure.part);
    std::ranges::replace(part, '_', ' ');
    text +=
        "  " + wrapped(part + " is exposed: " + exposure.why, terminal.at_most(100), "    ") + "\n";
  }
  return text;
}

std::string breakdown_text(const Scenario& scenario, const Prediction& prediction,
                           const Terminal& terminal) {
  const Breakdown& parts = prediction.breakdown;
  const double step = prediction.sec_per_iter.value;
  std::string text =
      fmt::format("Where the time goes (stage {}, the busiest)\n", prediction.slowest_stage);
  const std::pair<const char*, double> rows[] = {
      {"compute", parts.compute},     {"recompute", parts.recompute}, {"tp comm", parts.tp_comm},
      {"cp comm", parts.cp_comm},     {"ep comm", parts.ep_comm},     {"pp comm", parts.pp_comm},
      {"dp comm", parts.dp_comm},     {"offload", parts.offload},     {"bubble", parts.bubble},
      {"optimizer", parts.optimizer}, {"host", parts.host},           {"other", parts.other}};
  for (const auto& [label, value] : rows) {
    if (value < 1e-9 * step) continue;
    const std::string length = bar(value / step, static_cast<int>(terminal.at_most(72)) - 32);
    text += fmt::format("  {:<10}{:>10}{:>6.1f} %{}{}\n", label, seconds(value), 100 * value / step,
                        length.empty() ? "" : "  ", length);
  }
  return text + communication_text(scenario, prediction, terminal);
}

std::string memory_text(const Prediction& prediction, const Terminal& terminal) {
  TextTable table({"stage", "layers", "weights", "gradients", "optimizer", "activations", "buffers",
                   "framework", "peak GiB", "fwd", "bwd"});
  // Stages in the middle that are alike are told once.
  const auto& stages = prediction.stages;
  for (std::size_t i = 0; i < stages.size();) {
    const StageMemory& m = stages[i].memory;
    std::size_t last = i;
    while (last + 1 < stages.size() && stages[last + 1].memory.total() == m.total() &&
           stages[last + 1].blocks == stages[i].blocks) {
      ++last;
    }
    table.add({last > i ? fmt::format("{}-{}", i, last) : fmt::format("{}", i),
               fmt::format("{}", stages[i].blocks), gib_text(m.weights), gib_text(m.gradients),
               gib_text(m.optimizer), gib_text(m.activations), gib_text(m.buffers),
               gib_text(m.framework), gib_text(m.total()), seconds(stages[i].forward_s),
               seconds(stages[i].backward_s)});
    i = last + 1;
  }
  return "Memory per GPU (GiB) and time of one micro batch, by pipeline stage\n" +
         table.text(terminal.width);
}

}  // namespace

std::string interval_text(const Interval& interval, const Terminal& terminal) {
  const std::string sources = spread_text(interval.sources);
  const std::string text = fmt::format(
      "How sure of this plan: {:.0f} % intervals {} to {} per iteration, {} to {} GiB; fits with "
      "probability "
      "{:.2f}; unsure of {} ({})",
      100 * interval.level, seconds(interval.time_low.value), seconds(interval.time_high.value),
      gib_text(interval.memory_low), gib_text(interval.memory_high), interval.fits_probability,
      sources, interval.basis);
  return wrapped(text, terminal.at_most(100), "  ") + "\n";
}

std::string what_if_text(const StepDistribution& distribution, const WhatIf& question) {
  if (question.jitter == 0 || question.samples == 1)
    return fmt::format("What if: {:.2f} s per iteration\n", distribution.mean);
  return fmt::format(
      "What if ({} samples): mean {:.2f} s, P5 {:.2f} s, P50 {:.2f} s, P95 {:.2f} s per "
      "iteration\n",
      question.samples, distribution.mean, distribution.p5, distribution.p50, distribution.p95);
}

std::string contention_text(const ContendedIteration& contended) {
  const auto added = [](double value) {
    return fmt::format("{:+.3f} s", std::abs(value) < 5e-4 ? 0.0 : value);  // not -0.000
  };
  return fmt::format(
      "With contention: {:.2f} s per iteration (shared links {}, kernels beside collectives {}, "
      "host behind {} at most)\n",
      contended.seconds, added(contended.links), added(contended.overlap),
      added(contended.launches));
}

std::string prediction_text(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured, const Terminal& terminal) {
  return heading(scenario, terminal) + "\n" + headline(scenario, prediction, measured, terminal) +
         "\n" + breakdown_text(scenario, prediction, terminal) + "\n" +
         memory_text(prediction, terminal);
}

}  // namespace prequel
