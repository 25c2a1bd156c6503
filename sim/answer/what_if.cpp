#include "sim/answer/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/parallel.hpp"
#include "hw/base/text.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/router_balance.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/step/step.hpp"

namespace prequel {
namespace {

void check_nodes(const Scenario& scenario, const WhatIf& question) {
  const std::int64_t per_node = scenario.cluster.devices_per_node;
  const std::int64_t nodes = (scenario.plan.gpus + per_node - 1) / per_node;
  for (const SlowNode& slow : question.slow_nodes) {
    if (slow.node >= 0 && slow.node < nodes) continue;
    throw InputError(fmt::format("slow_node {}", slow.node),
                     fmt::format("the job runs on nodes 0 to {}; {} would do", nodes - 1,
                                 slow.node < 0 ? 0 : nodes - 1));
  }
}

/// Refuses more draws than a minute or so is enough for: a pass of a micro batch on one device
/// takes about 0.1 µs a sample.
void check_samples(const Scenario& scenario, const WhatIf& question) {
  constexpr double kMostPasses = 5e8;
  const double passes =
      static_cast<double>(scenario.plan.gpus) * static_cast<double>(scenario.plan.micro_batches());
  const double most = std::max(1.0, std::floor(kMostPasses / passes));
  if (question.samples <= most) return;
  throw InputError(fmt::format("samples {}", question.samples),
                   fmt::format("too many for a job of this size; {:.0f} would do", most));
}

LinkClass level_of(const Cluster& cluster, const std::string& level) {
  std::vector<std::string> known;
  for (const LinkClass each : link_levels(cluster.fabric->description())) {
    if (name(each) == level) return each;
    known.emplace_back(name(each));
  }
  throw InputError("link_fraction " + printable(level),
                   fmt::format("{} has no such links{}; it has {}", cluster.name,
                               did_you_mean(level, known), fmt::join(known, ", ")));
}

/// Ranks synchronise in each layer after attention and after the MLP; or, where they exchange
/// tokens with experts, before and after these.
Meetings meetings(const LayerKinds& kinds, const StageContent& block, bool exchanges) {
  Meetings found{0, 0};
  each_kind(kinds, [&](Part part, LayerKind kind) {
    const auto layers = static_cast<std::uint32_t>(block.parts[part]);
    found.all += static_cast<std::uint32_t>(kind.sublayers()) * layers;
    if (exchanges && kind.has_experts()) found.exchanges += 2 * layers;
  });
  found.all = std::max(1U, found.all);
  return found;
}

/// Sharded sequences keep their ranks beside the tensor-parallel ones, as one group.
StageRanks stage_ranks(const Transformer& model, const Plan& plan, const Step& step) {
  const RankGroup sequence = rank_group(plan, GroupAxis::context);
  StageRanks ranks{static_cast<std::uint32_t>(sequence.size * sequence.stride),
                   static_cast<std::uint32_t>(plan.dp)};
  ranks.expert_parallel = static_cast<std::uint32_t>(plan.ep * plan.etp);
  ranks.meetings.clear();
  const LayerKinds kinds(model);
  for (const StepBlock& block : step.blocks) {
    ranks.meetings.push_back(meetings(kinds, block.content, ranks.expert_parallel > 1));
  }
  return ranks;
}

/// Returns the extra seconds of tasks for each further mean load of experts on all ranks.
BlockTable time_per_load(const Step& balanced, const Step& busiest, double imbalance) {
  BlockTable extra(balanced.shape);
  for (const TaskTraits& task : kTasks) {
    for (std::uint32_t stage = 0; stage < balanced.shape.stages; ++stage) {
      for (std::uint32_t chunk = 0; chunk < balanced.shape.chunks; ++chunk) {
        const double more = busiest.durations.at(task.kind, stage, chunk) -
                            balanced.durations.at(task.kind, stage, chunk);
        extra.at(task.kind, stage, chunk) = std::max(0.0, more) / (imbalance - 1);
      }
    }
  }
  return extra;
}

RankSlowness rank_slowness(const Scenario& scenario, const WhatIf& question) {
  RankSlowness slowness;
  slowness.compute.assign(static_cast<std::size_t>(scenario.plan.gpus), 1.0);
  for (std::size_t rank = 0; rank < slowness.compute.size(); ++rank) {
    const auto node = static_cast<std::int64_t>(rank) / scenario.cluster.devices_per_node;
    for (const SlowNode& slow : question.slow_nodes) {
      if (slow.node == node) slowness.compute[rank] /= slow.speed;
    }
  }
  return slowness;
}

/// The value below which `share` of the sorted ones lie (nearest rank).
double percentile(const std::vector<double>& sorted, double share) {
  const auto index = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace

Scenario with_degraded_links(Scenario scenario, const std::vector<LinkFraction>& fractions) {
  for (const LinkFraction& links : fractions) {
    scenario.cluster = with_link_fraction(scenario.cluster, level_of(scenario.cluster, links.level),
                                          links.fraction);
  }
  return scenario;
}

StepDistribution what_if(const Scenario& asked, const WhatIf& question, const Progress& progress) {
  check_nodes(asked, question);
  check_samples(asked, question);
  Scenario scenario = with_degraded_links(asked, question.link_fractions);
  const RankSlowness slowness = rank_slowness(scenario, question);
  Step step = step_of(scenario);
  const StageRanks ranks = stage_ranks(scenario.model, scenario.plan, step);
  const double imbalance = scenario.plan.imbalance;
  std::optional<BlockTable> per_load;
  if (scenario.plan.router_balance == kNaturalBalance && imbalance > 1 && question.jitter > 0) {
    scenario.plan.imbalance = 1;
    const Step busiest = std::exchange(step, step_of(scenario));
    per_load = time_per_load(step, busiest, imbalance);
  }
  std::vector<double> seconds(question.samples);
  const auto play = [&](std::size_t sample) {
    const Jitter jitter{question.jitter, question.seed + sample, per_load ? imbalance : 1};
    seconds[sample] = run_ranks(step.schedule, step.shape, step.durations, ranks, slowness, jitter,
                                1, per_load ? &*per_load : nullptr)
                          .front() +
                      step.fixed.value;
  };
  parallel_for(seconds.size(), play, progress);
  std::ranges::sort(seconds);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {sum / static_cast<double>(seconds.size()), percentile(seconds, 0.05),
          percentile(seconds, 0.5), percentile(seconds, 0.95)};
}

}  // namespace prequel
