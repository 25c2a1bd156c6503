#pragma once

/// What a step takes when ranks are not alike: slow nodes, slow links between stages, jitter.

#include <cstdint>
#include <vector>

#include "sim/pricing.hpp"

namespace prequel {

/// A node whose devices compute at `speed` times the usual rate, above 0.
struct SlowNode {
  std::int64_t node{};
  double speed{1};
};

struct WhatIf {
  std::vector<SlowNode> slow_nodes;
  double jitter{};  ///< relative standard deviation of the time between two synchronisations
  std::uint64_t seed{1};
  std::uint32_t samples{1};  ///< steps to play, at least 1

  /// Whether anything is asked for.
  [[nodiscard]] bool any() const { return !slow_nodes.empty() || jitter > 0; }
};

/// Of sec/iter over the samples.
struct StepDistribution {
  double mean{}, p5{}, p50{}, p95{};
};

/// Plays the step on all ranks. Ranks lie on nodes with tensor-parallel neighbours next to one
/// another, then replicas, then stages. The same for the same seed, whatever the threads. Throws
/// InputError when a node is not in the job or layers are fully sharded.
StepDistribution what_if(const Scenario& scenario, const WhatIf& question);

}  // namespace prequel
