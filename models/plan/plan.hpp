#pragma once

/// The plan: how a model is laid out over a cluster. A request says what the user said; resolving
/// it fills every axis and checks all the rules that frameworks set.

#include <cstdint>
#include <string>
#include <vector>

#include "hw/cluster.hpp"
#include "models/axes/axes.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

class Cursor;

template <class Value>
using Settled = Value;

/// A plan with every axis said; at first each at its plainest.
struct Plan : AxisValues<Settled> {
  std::int64_t gpus{1};   ///< devices in use: dp·tp·pp·cp
  double imbalance{1.0};  ///< tokens of the busiest rank's experts over the mean: router_balance

  Plan() : AxisValues{} {
    each_axis([this](const auto& axis) { axis.of(*this) = plainest(axis.domain); });
  }

  /// Micro batches that each pipeline runs in one iteration.
  [[nodiscard]] std::int64_t micro_batches() const { return gbs / (dp * mbs); }
  /// Ranks that hold the same parameters and so reduce their gradients together: dp, or twice as
  /// many where the schedule has each block on two stages.
  [[nodiscard]] std::int64_t replicas() const { return traits(schedule).mirrored ? 2 * dp : dp; }
};

/// Whether host memory holds states or activations.
inline bool uses_host_memory(const Plan& plan) {
  return plan.offload != Offload::none || plan.optimizer_offload > 0 ||
         !plan.offload_modules.empty();
}

/// A plan that can be run, and what the user should know about it.
struct ResolvedPlan {
  Plan plan;
  std::vector<std::string> warnings;
};

/// A request filled and held against all rules.
struct PlanJudgement {
  Plan plan;
  std::vector<std::string> problems;  ///< rules that it breaks, each with the nearest legal value
  std::vector<std::string> warnings;
};

/// `request`, and what it leaves out as `other` says.
PlanRequest filled_from(PlanRequest request, const PlanRequest& other);

/// Reads the `plan` object of a job.
PlanRequest read_plan(const Cursor& cursor);

/// Fills and checks without warnings, for those who ask about many plans.
PlanJudgement judge_plan(const PlanRequest& request, const Transformer& model,
                         const Cluster& cluster, const Software& software);

/// Fills and checks. Throws InputError with every rule that is broken.
ResolvedPlan resolve_plan(const PlanRequest& request, const Transformer& model,
                          const Cluster& cluster, const Software& software);

}  // namespace prequel
