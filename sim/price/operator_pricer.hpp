#pragma once

/// Time of lists of operators on one rank.

#include <optional>

#include "hw/cluster.hpp"
#include "models/job/inputs.hpp"
#include "models/layers/operators.hpp"
#include "sim/price/kernel_costs.hpp"
#include "sim/price/layer_question.hpp"

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
  /// Runs transfers beside kernels of their pass. A kernel has one transfer beside it at a time,
  /// and both lose a share of the time that they have in common.
  void play(const Operators& operators, KernelCosts& costs) const;
  /// Returns whether tokens are on their way while shared experts run (Megatron-Core's
  /// moe_shared_expert_overlap, which its dispatcher alltoall has).
  [[nodiscard]] bool exchanges_beside_shared() const;
  /// Returns whether collectives of the tensor group run beside products in parts (user buffers).
  [[nodiscard]] bool in_user_buffers() const;
  /// Returns whether Transformer Engine sends such a collective beside a gradient by itself.
  [[nodiscard]] bool beside_by_itself(const GroupCollective& collective) const;
  /// Returns the seconds that a collective of the tensor group hides of those that it and a product
  /// have in common: in user buffers, but no less than without them.
  [[nodiscard]] double hidden_tensor(const GroupCollective& collective, double both) const;
  /// Returns the product that a collective runs beside: a gather's is the one that reads it, a
  /// sum's the one before it; the last layer's ends lie at this layer's beginning.
  [[nodiscard]] static std::size_t product_beside(const GroupCollective& collective, std::size_t at,
                                                  const KernelCosts& costs);
  [[nodiscard]] KernelCost price(const Operator& op) const;
  [[nodiscard]] const GroupShape& group_of(GroupAxis axis) const;
  [[nodiscard]] double collective_seconds(const GroupCollective& collective) const;
  /// A tensor group's ring that crosses nodes hands a message to the network in each step; what a
  /// step between nodes takes more than one inside, it takes the device too.
  [[nodiscard]] double message_time() const;
  /// Returns what all steps of a ring take, and what launches of them cost in any case.
  [[nodiscard]] double ring_seconds(const ContextRing& ring) const;
  [[nodiscard]] double ring_launches(const ContextRing& ring) const;

  const LayerQuestion& question_;
  const Inputs& inputs_;
  GroupShape tensor_group_;
  GroupShape context_group_;
  GroupShape expert_group_;
  GroupShape expert_tensor_group_;
};

}  // namespace prequel
