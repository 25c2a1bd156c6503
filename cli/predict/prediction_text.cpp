#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/predict/prediction_format.hpp"
#include "cli/text/layout_text.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/portable_math.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"
#include "sim/answer/exposure.hpp"

namespace prequel {
namespace {

std::string heading(const Scenario& scenario, const Terminal& terminal) {
  const Plan& plan = scenario.plan;
  const std::int64_t per_node = scenario.cluster.devices_per_node;
  const std::string where = plan.gpus < per_node
                                ? fmt::format("{} of a node's {}", plan.gpus, per_node)
                                : fmt::format("{} x {}", counted(plan.nodes, "node"), per_node);
  const std::string text =
      fmt::format("{} on {} {} ({}), {}", scenario.model.name, where, scenario.device.name,
                  scenario.cluster.name, scenario.software.name);
  const std::size_t width = terminal.at_most(1000);
  return inked(terminal, Ink::bold, wrapped(text, width, "  ")) + "\n" +
         wrapped(plan_text(scenario), width, "  ") + "\n";
}

Ink ink(MemoryVerdict verdict) {
  if (verdict == MemoryVerdict::fits) return Ink::green;
  return verdict == MemoryVerdict::tight ? Ink::yellow : Ink::red;
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
  const double hardware_rate = prediction.hardware_flops_rate(plan) / kTera;
  const double samples = static_cast<double>(plan.gbs) / step;
  TextTable table(measured ? std::vector<std::string>{"", "predicted", "measured", "difference"}
                           : std::vector<std::string>{"", "predicted"});
  const auto add = [&](const char* what, std::string value, std::optional<double> was = {},
                       double number = 0, const char* unit = "") {
    if (!was) return table.row(what, value);
    table.row(what, value, fmt::format("{:.2f} {}", *was, unit),
              signed_percent(number / *was - 1) + " %");
  };
  const Measured seen = measured.value_or(Measured{});
  add("time per iteration", time_with_error(step, prediction.relative_error),
      seen.sec_per_iter ? std::optional(seen.sec_per_iter->value) : std::nullopt, step, "s");
  add("throughput", fixed(samples, 2) + " samples/s");
  const double tokens = samples * tokens_of_sample(plan);
  add("", fmt::format("{:.0f} tokens/s, {:.0f} a GPU", tokens, tokens / real(plan.gpus)));
  if (const auto& uneven = prediction.uneven) {
    add("", fmt::format("{:.0f} tokens/s are no padding, {:.0f} count for the loss",
                        uneven->tokens.real / step, uneven->tokens.loss / step));
  }
  add("model FLOPs per GPU", fixed(prediction.model_flops_rate(plan) / kTera, 1) + " TFLOP/s");
  add("hardware FLOPs per GPU", fixed(hardware_rate, 1) + " TFLOP/s", seen.tflops_per_gpu,
      hardware_rate, "TFLOP/s");
  add("MFU", percent(prediction.mfu(plan)) + " %");
  add("HFU", percent(prediction.hfu(plan)) + " %");
  add("peak memory",
      fmt::format("{} of {} GiB, {}", gib_text(prediction.peak_memory),
                  gib_text(scenario.device.memory),
                  inked(terminal, ink(prediction.verdict), std::string(name(prediction.verdict)))),
      seen.memory_gib, gib(prediction.peak_memory), "GiB");
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
  std::string text;
  for (const TimePart& part : kTimeParts) {
    const double value = prediction.hidden.*part.seconds;
    if (value < 1e-3 * prediction.sec_per_iter.value) continue;
    text += fmt::format("{}{} {}", text.empty() ? "hidden: " : ", ", spaced(part.key),
                        seconds_text(value));
  }
  if (!text.empty()) text = "  " + wrapped(text, terminal.at_most(100), "    ") + "\n";
  for (const Exposure& exposure : exposures(scenario, prediction)) {
    const std::string why = spaced(exposure.part) + " is exposed: " + exposure.why;
    text += "  " + wrapped(why, terminal.at_most(100), "    ") + "\n";
  }
  return text;
}

std::string breakdown_text(const Scenario& scenario, const Prediction& prediction,
                           const Terminal& terminal) {
  const double step = prediction.sec_per_iter.value;
  std::string text =
      fmt::format("Where the time goes (stage {}, the busiest)\n", prediction.slowest_stage);
  for (const TimePart& part : kTimeParts) {
    const double value = prediction.breakdown.*part.seconds;
    if (value < 1e-9 * step) continue;
    const std::string length = bar(value / step, static_cast<int>(terminal.at_most(72)) - 32);
    text += fmt::format("  {:<10}{:>10}{:>6.1f} %{}{}\n", spaced(part.key), seconds_text(value),
                        100 * value / step, length.empty() ? "" : "  ", length);
  }
  return text + communication_text(scenario, prediction, terminal);
}

std::string memory_text(const Prediction& prediction, const Terminal& terminal) {
  std::vector<std::string> header{"stage", "layers"};
  for (const MemoryPart& part : kMemoryParts) header.emplace_back(part.key);
  header.insert(header.end(), {"peak GiB", "fwd", "bwd"});
  TextTable table(header);
  // Stages in the middle that are alike are told once.
  const auto& stages = prediction.stages;
  for (std::size_t i = 0; i < stages.size();) {
    const StageMemory& m = stages[i].memory;
    std::size_t last = i;
    while (last + 1 < stages.size() && stages[last + 1].memory.total() == m.total() &&
           stages[last + 1].blocks == stages[i].blocks) {
      ++last;
    }
    std::vector<std::string> row{last > i ? fmt::format("{}-{}", i, last) : fmt::format("{}", i),
                                 fmt::format("{}", stages[i].blocks)};
    for (const MemoryPart& part : kMemoryParts) row.push_back(gib_text(m.*part.bytes));
    row.insert(row.end(), {gib_text(m.total()), seconds_text(stages[i].forward_s),
                           seconds_text(stages[i].backward_s)});
    table.add(std::move(row));
    i = last + 1;
  }
  return "Memory per GPU (GiB) and time of one micro batch, by pipeline stage\n" +
         table.text(terminal.width);
}

}  // namespace

std::string interval_text(const Interval& interval, const Terminal& terminal) {
  const std::string text = fmt::format(
      "How sure of this plan: {:.0f} % intervals {} to {} per iteration, {} to {} GiB; fits with "
      "probability {:.2f}; unsure of {} ({})",
      100 * interval.level, seconds_text(interval.time_low.value),
      seconds_text(interval.time_high.value), gib_text(interval.memory_low),
      gib_text(interval.memory_high), interval.fits_probability, spread_text(interval.sources),
      interval.basis);
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
  const auto added = [](double value) { return signed_fixed(value, 3) + " s"; };
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

std::string shares_text(const StageShares& shares, const Terminal& terminal) {
  TextTable table({"stage", "computing", "bubble", "exposed comm", "host", "critical path"});
  const auto share = [&](double seconds) { return percent(seconds / shares.seconds) + " %"; };
  // Stages in the middle that are alike are told once.
  const auto row = [&](std::size_t i) {
    const StageShare& stage = shares.stages[i];
    return std::vector<std::string>{share(stage.computing_s), share(stage.bubble_s),
                                    share(stage.communicating_s), share(stage.host_s),
                                    share(stage.critical_s)};
  };
  for (std::size_t i = 0; i < shares.stages.size();) {
    std::size_t last = i;
    while (last + 1 < shares.stages.size() && row(last + 1) == row(i)) ++last;
    std::vector<std::string> cells = row(i);
    cells.insert(cells.begin(), last > i ? fmt::format("{}-{}", i, last) : fmt::format("{}", i));
    table.add(std::move(cells));
    i = last + 1;
  }
  return "Shares of the iteration, by pipeline stage\n" + table.text(terminal.width);
}

}  // namespace prequel
