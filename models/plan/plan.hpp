#pragma once

/// The plan: how a model is laid out over a cluster, what the user is looking for. A request says
/// what the user said; resolving it fills every axis and checks all the rules that frameworks set.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/cluster.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

class Cursor;

/// A plan as asked for: what is empty is derived or defaulted.
struct PlanRequest {
  std::optional<std::int64_t> nodes, dp, tp, pp, cp, ep, vpp, mbs, gbs, seq_len, zero;
  std::optional<Offload> offload;
  std::optional<Recompute> recompute;
  std::optional<std::int64_t> recompute_layers;
  std::optional<Precision> precision;
  std::optional<AttentionKind> attention;
  std::optional<bool> sequence_parallel;
  std::optional<std::string> schedule;
  std::optional<Precision> grad_precision;
  std::optional<StageSplit> stage_split;
};

/// A plan with every axis said.
struct Plan {
  std::int64_t nodes{1};
  std::int64_t gpus{1};  ///< devices in use: dp·tp·pp·cp
  std::int64_t dp{1}, tp{1}, pp{1}, cp{1}, ep{1}, vpp{1};
  std::int64_t etp{1};
  std::int64_t mbs{1}, gbs{1}, seq_len{1};
  std::int64_t zero{0};
  Offload offload{};
  Recompute recompute{};
  std::int64_t recompute_layers{1};  ///< full recompute keeps the input of every n-th layer
  Precision precision{};
  AttentionKind attention{};
  bool sequence_parallel{};
  std::string schedule;
  Precision grad_precision{};  ///< in which gradients are accumulated and reduced
  StageSplit stage_split{};

  /// Micro batches that each pipeline runs in one iteration.
  [[nodiscard]] std::int64_t micro_batches() const { return gbs / (dp * mbs); }
  /// Ranks that hold the same parameters and so reduce their gradients together: dp, or twice as
  /// many where DualPipe has each block on two stages.
  [[nodiscard]] std::int64_t replicas() const { return schedule == "dualpipe" ? 2 * dp : dp; }
};

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

/// Fills and checks, for those who ask about many plans.
PlanJudgement judge_plan(const PlanRequest& request, const Transformer& model,
                         const Cluster& cluster, const Software& software);

/// Fills and checks. Throws InputError with every rule that is broken.
ResolvedPlan resolve_plan(const PlanRequest& request, const Transformer& model,
                          const Cluster& cluster, const Software& software);

}  // namespace prequel
