#include "calibrate/runs/advise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/student_t.hpp"
#include "sim/answer/slopes.hpp"

namespace prequel {
namespace {

constexpr double kRunIterations = 20.0;
constexpr double kRunStartMinutes = 5.0;

double product(const Deviations& left, const Spread& spread, const Deviations& right) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    if (left[i] == 0) continue;
    for (std::size_t j = 0; j < kUncertain; ++j) {
      sum += left[i] * spread.covariance[i][j] * right[j];
    }
  }
  return sum;
}

double half_width(double variance) {
  return std::expm1(t4_half_width(kIntervalLevel) * std::sqrt(std::max(0.0, variance)));
}

/// The plan as it is, on `replicas` data-parallel groups in place of its own.
std::optional<Scenario> on_fewer(const Scenario& scenario, std::int64_t replicas) {
  const Plan& plan = scenario.plan;
  Scenario fewer = scenario;
  fewer.plan.dp = replicas;
  fewer.plan.gpus = plan.gpus / plan.dp * replicas;
  fewer.plan.gbs = plan.gbs / plan.dp * replicas;
  // Experts are spread over ranks of all replicas: fewer would be another plan.
  if (scenario.model.has_experts() && fewer.plan.gpus / plan.pp % (plan.ep * plan.etp) != 0) {
    return std::nullopt;
  }
  const std::int64_t per_node = scenario.cluster.devices_per_node;
  if (fewer.plan.gpus > per_node && fewer.plan.gpus % per_node != 0) return std::nullopt;
  fewer.plan.nodes = std::max<std::int64_t>(1, fewer.plan.gpus / per_node);
  return fewer;
}

/// One stage of the pipeline as a model of its own, on as few devices as its layers need.
std::optional<Scenario> one_stage(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (plan.pp == 1 || plan.vpp > 1 || scenario.model.layers % plan.pp != 0) return std::nullopt;
  Scenario stage = scenario;
  stage.model.layers = scenario.model.layers / plan.pp;
  stage.plan.pp = 1;
  stage.plan.gpus = plan.gpus / plan.pp;
  const auto fewer = on_fewer(stage, 1);
  return fewer;
}

}  // namespace

AdviceReport advise(const Scenario& scenario, const Uncertainty& uncertainty) {
  const Prediction prediction = predict(scenario);
  const Spread spread = spread_of(scenario, uncertainty);
  const Deviations target = time_slopes_of(scenario, uncertainty, spread);
  const double noise = spread.time_noise * spread.time_noise;
  const double variance = product(target, spread, target) + noise;
  AdviceReport report;
  report.half_width = half_width(variance);
  const auto add = [&](std::string what, double minutes, const Deviations& slopes, double scatter) {
    const double shared = product(target, spread, slopes);
    const double taken = shared * shared / (product(slopes, spread, slopes) + scatter * scatter);
    report.advices.push_back({std::move(what), minutes, half_width(variance - taken)});
  };
  for (const Benchmark& benchmark : uncertainty.benchmarks) {
    Deviations slopes{};
    slopes[static_cast<std::size_t>(benchmark.constant)] = 1.0;
    if (product(target, spread, slopes) == 0) continue;
    add(benchmark.what, benchmark.minutes, slopes, benchmark.sd);
  }
  const auto add_run = [&](const std::string& what, const std::optional<Scenario>& run) {
    if (!run) return;
    try {
      const Prediction of_run = predict(*run);
      if (of_run.verdict == MemoryVerdict::oom) return;
      add(fmt::format("{} on {} GPU{}", what, run->plan.gpus, run->plan.gpus == 1 ? "" : "s"),
          kRunStartMinutes + kRunIterations * of_run.sec_per_iter.value / 60.0,
          time_slopes_of(*run, uncertainty, spread), std::numbers::sqrt2 * spread.time_noise);
    } catch (const InputError&) {
      return;  // no such run
    }
  };
  for (std::int64_t dp = scenario.plan.dp / 2; dp >= 1; dp /= 2) {
    if (scenario.plan.dp % dp == 0) add_run("a run of this plan", on_fewer(scenario, dp));
  }
  add_run("a run of one pipeline stage's layers", one_stage(scenario));
  std::ranges::stable_sort(report.advices, {}, &Advice::half_width);
  return report;
}

}  // namespace prequel
