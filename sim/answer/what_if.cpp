#include "sim/answer/what_if.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/parallel.hpp"
#include "hw/base/text.hpp"
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

/// Sharded sequences keep their ranks beside the tensor-parallel ones, as one group.
StageRanks stage_ranks(const Plan& plan, std::uint32_t synchronisations) {
  return {static_cast<std::uint32_t>(plan.tp * plan.cp), static_cast<std::uint32_t>(plan.dp),
          synchronisations};
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

StepDistribution what_if(const Scenario& asked, const WhatIf& question) {
  check_nodes(asked, question);
  const Scenario scenario = with_degraded_links(asked, question.link_fractions);
  const RankSlowness slowness = rank_slowness(scenario, question);
  const Step step = step_of(scenario);
  const StageRanks ranks = stage_ranks(scenario.plan, step.synchronisations);
  std::vector<double> seconds(question.samples);
  parallel_for(seconds.size(), [&](std::size_t sample) {
    const Jitter jitter{question.jitter, question.seed + sample};
    seconds[sample] =
        run_ranks(step.schedule, step.shape, step.durations, ranks, slowness, jitter).front() +
        step.fixed.value;
  });
  std::ranges::sort(seconds);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {sum / static_cast<double>(seconds.size()), percentile(seconds, 0.05),
          percentile(seconds, 0.5), percentile(seconds, 0.95)};
}

}  // namespace prequel
