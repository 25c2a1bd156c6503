#pragma once

/// Time of lists of operators on one rank.

#include "hw/cluster.hpp"
#include "models/job/inputs.hpp"
#include "models/layers/operators.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// Prices lists of operators on one rank.
class OperatorPricer {
 public:
  OperatorPricer(const LayerQuestion& question, const Inputs& inputs);

  /// Each operator's kernel, in their order, less what of communication others of them hide.
  [[nodiscard]] KernelCosts price(const Operators& operators) const;

  /// Returns what the host does for a collective of the tensor group besides launching it, in
  /// pipelines that span nodes.
  [[nodiscard]] Seconds tensor_collective_launch() const;

 private:
  /// Reduces tensor-parallel communication to the part that the stack's overlap leaves exposed. The
  /// schedule hides the experts' exchanges.
  void hide_overlapped(const Operators& operators, KernelCosts& costs) const;
  static void hide(KernelCost& communication, double seconds);
  /// A gather beside a dgrad costs what is longer of it, and what both lose to each other.
  void hide_behind_dgrad(const Operators& operators, KernelCosts& costs) const;
  /// Shared experts run while tokens are on their way to the others and back (Megatron-Core's
  /// moe_shared_expert_overlap, which its dispatcher alltoall has).
  void hide_behind_shared_experts(const Operators& operators, KernelCosts& costs) const;
  [[nodiscard]] KernelCost price(const Operator& op) const;
  [[nodiscard]] const GroupShape& group_of(GroupAxis axis) const;
  [[nodiscard]] double collective_seconds(const GroupCollective& collective) const;
  /// A tensor group's ring that crosses nodes hands a message to the network in each step; what a
  /// step between nodes takes more than one inside, it takes the device too.
  [[nodiscard]] double message_time() const;
  /// Adds the part of the ring's steps that attention does not hide, and the fixed cost of every
  /// step. The last step has nothing to send.
  void price_ring(const ContextRing& ring, double attention, KernelCost& cost) const;

  const LayerQuestion& question_;
  const Inputs& inputs_;
  GroupShape tensor_group_;
  GroupShape context_group_;
  GroupShape expert_group_;
  GroupShape expert_tensor_group_;
};

}  // namespace prequel
