#pragma once

/// Defaults for the ranks that share experts, and the ranks that hold the same parameters.

#include <cstdint>

#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// The tensor-parallel degree of experts where nobody says it. PyTorch-native stacks split experts
/// that are not shared out (ep 1) over the tensor group, as they split other weights (torchtitan,
/// parallelize.py); others hold them whole.
std::int64_t usual_expert_tensor(std::int64_t ep, std::int64_t tp, const Transformer& model,
                                 const Software& software);

/// Tests whether any rank holds the same parameters as another: dense ones, or experts', which may
/// be copied within a tensor group.
bool has_replicas(const Plan& plan, const Transformer& model);

}  // namespace prequel
