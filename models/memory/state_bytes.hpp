#pragma once

/// Bytes of one parameter's states: its weight, its gradient and the optimizer's.

#include "models/plan/plan.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// Bytes a parameter, before any sharding.
struct StateBytes {
  double weights{};
  double gradients{};
  double optimizer{};  ///< moments, and fp32 copies of narrower weights
  double gathered{};   ///< of a weight that ranks gather from one another
  double reduced{};    ///< copies in which gradients are reduced over replicas
  double moment{};     ///< part of `optimizer`: one of Adam's two moments, or Muon's momentum
  double updating{};   ///< fp32 copies of narrower gradients, which the update alone makes
};

/// As the software file counts them. Where that counts half-precision weights, the plan changes
/// them to what Megatron-LM's docs/source/api-guide/dist_optimizer.md counts (2 + 4 + 12, 2 + 2 +
/// 16 or 4 + 4 + 8 bytes), 4 of the 16 while the optimizer updates and no activations are there:
///
/// - in fp32 and tf32 the optimizer's moments are all that stands beside weights and gradients;
/// - gradients that the file counts in fp32, without a copy of them, follow the plan's
///   grad_precision; half-precision ones have a copy in fp32 in the update;
/// - with fp8_param_gather weights are gathered in fp8, unless they are kept twice, by rows and by
///   columns (mxfp8);
/// - moments that the file counts in fp32 have the plan's moments_precision;
/// - without master weights, gradients have the weights' format, and nothing is beside the moments;
/// - moments of 8 bits have a scale for each 256 of them;
/// - adapters in fp32 have no copy of their weights: 4 + 4 + 8 bytes.
StateBytes state_bytes(const Plan& plan, const Software& software);

/// Returns the mean where a share of what learns are tables beside adapters in fp32: a table is
/// trained in the format in which it was loaded, moments included, and its original stays (PEFT's
/// ModulesToSaveWrapper).
StateBytes with_tables(const StateBytes& adapters, const Plan& plan, double share);

}  // namespace prequel
