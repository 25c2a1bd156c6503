#pragma once

/// Time of a step whose ranks or links are not as they should be: slow nodes, degraded links,
/// jitter.

#include "hw/base/progress.hpp"
#include "models/job/what_if_question.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// The distribution of sec/iter over the samples.
struct StepDistribution {
  double mean{}, p5{}, p50{}, p95{};
};

/// The scenario on links at these fractions of their rates. Throws InputError when the cluster has
/// no such links.
Scenario with_degraded_links(Scenario scenario, const std::vector<LinkFraction>& fractions);

/// Plays the step on all ranks. Ranks lie on nodes with tensor-parallel neighbours next to one
/// another, then replicas, then stages; those that exchange tokens with experts wait for one
/// another in each such layer. With jitter and natural routing, how many tokens each rank's experts
/// get is drawn for each layer and micro batch, so that the busiest gets as many times the mean as
/// the plan says on average. The same for the same seed, whatever the threads. Throws InputError
/// when a node is not in the job, or the cluster has no such links. `progress` hears of samples.
StepDistribution what_if(const Scenario& scenario, const WhatIf& question,
                         const Progress& progress = {});

}  // namespace prequel
