#pragma once

/// The plan: how a model is laid out over a cluster.

#include <cstdint>

#include "models/axes/axes.hpp"

namespace prequel {

/// A plan with every axis said; at first each at its plainest.
struct Plan : AxisValues<Settled> {
  std::int64_t gpus{1};    ///< devices in use: dp·tp·pp·cp
  double recomputed{1.0};  ///< share of the blocks that full recompute repeats: recompute_first
  double imbalance{1.0};   ///< tokens of the busiest rank's experts over the mean: router_balance
  /// Mean tokens of rows of unequal length (lengths): those that one computes; those that see one
  /// another in it, as equal sequences would; and those of the longest row. 0: `seq_len`.
  std::int64_t computed_len{}, seen_len{}, longest_len{};

  Plan() : AxisValues{} {
    each_axis([this](const auto& axis) { axis.of(*this) = plainest(axis.domain); });
  }

  /// Micro batches that each pipeline runs in one iteration.
  [[nodiscard]] std::int64_t micro_batches() const { return gbs / (dp * mbs); }
  /// Sequences of one sample: preferences compare a chosen one with a rejected one.
  [[nodiscard]] std::int64_t sequences_of_sample() const { return traits(objective).sequences; }
  /// Ranks that hold the same parameters and so reduce their gradients together: dp, or twice as
  /// many where the schedule has each block on two stages.
  [[nodiscard]] std::int64_t replicas() const { return traits(schedule).mirrored ? 2 * dp : dp; }
};

/// Tokens that one sample of the batch computes, on the mean.
inline double tokens_of_sample(const Plan& plan) {
  const std::int64_t row = plan.computed_len > 0 ? plan.computed_len : plan.seq_len;
  return static_cast<double>(row * plan.sequences_of_sample());
}

/// Tokens that one step computes, on the mean.
inline double tokens_of_step(const Plan& plan) {
  return static_cast<double>(plan.gbs) * tokens_of_sample(plan);
}

/// Tests whether host memory holds activations.
inline bool offloads_activations(const Plan& plan) {
  return !plan.offload_modules.empty() || plan.offload_layers > 0;
}
/// Tests whether host memory holds states or activations.
inline bool uses_host_memory(const Plan& plan) {
  return plan.offload != Offload::none || plan.optimizer_offload > 0 || offloads_activations(plan);
}

}  // namespace prequel
