#pragma once

/// What plans have to obey: a request says what the user said; resolving it fills every axis and
/// checks all the rules that frameworks set.

#include <optional>
#include <string>
#include <vector>

#include "hw/cluster.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

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

/// Fills and checks without warnings, for those who ask about many plans.
PlanJudgement judge_plan(const PlanRequest& request, const Transformer& model,
                         const Cluster& cluster, const Software& software);

/// Tells which shipped stack and machine stand in for names that are not known.
std::vector<std::string> stand_ins(const Software& software, const Cluster& cluster);

/// What a plan that says no sequence length assumes, where few train with as long a one; else
/// empty.
std::string assumed_sequence(const PlanRequest& request, const Transformer& model);

/// The tensor-parallel degree of experts where nobody says it. PyTorch-native stacks split experts
/// that are not shared out (ep 1) over the tensor group, as they split other weights (torchtitan,
/// models/moe and parallelize.py); others hold them whole.
std::int64_t usual_expert_tensor(std::int64_t ep, std::int64_t tp, const Transformer& model,
                                 const Software& software);

/// The plan of `judge_plan`; nothing where it breaks a rule. Faster, as no text is formed.
std::optional<Plan> legal_plan(const PlanRequest& request, const Transformer& model,
                               const Cluster& cluster, const Software& software);

/// Fills and checks. Throws InputError with every rule that is broken.
ResolvedPlan resolve_plan(const PlanRequest& request, const Transformer& model,
                          const Cluster& cluster, const Software& software);

}  // namespace prequel
