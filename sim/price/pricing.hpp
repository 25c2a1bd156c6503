#pragma once

/// Cost of one pipeline stage's work on its devices: operators of models/, priced by hw/.

#include <cstdint>
#include <vector>

#include "models/job/inputs.hpp"
#include "models/layers/operators.hpp"
#include "models/layers/parts.hpp"
#include "models/memory/memory.hpp"
#include "models/plan/stages.hpp"
#include "sim/price/kernel_costs.hpp"
#include "sim/price/layer_question.hpp"
#include "sim/price/orthogonalization.hpp"

namespace prequel {

/// Seconds of one pass over a stage, by what they are spent on.
struct PassCost {
  double compute{};               ///< kernels
  double recompute{};             ///< kernels that repeat the forward pass
  double tp_comm{};               ///< exposed tensor-parallel collectives, repeated ones included
  double cp_comm{};               ///< the same of context ranks
  double ep_comm{};               ///< and of expert ranks: dispatch and combine
  double host{};                  ///< launches that the device waits for
  double weight_gradient{};       ///< part of `compute`: products that no earlier layer waits for
  double weight_gradient_host{};  ///< part of `host`: their launches
  /// Growth of `host` where another micro batch runs in place of exchanges; no part of the total.
  double host_beside{};
  double attention{};  ///< part of `compute` and `recompute`
  double stream{};     ///< part of `compute` and `recompute`: memory-bound kernels
  /// Seconds in which the host launches it, ahead of the device; no part of the total. 0 where the
  /// device waits for each launch anyway.
  double launching{};
  /// Seconds of copies of activations to host memory (forward) or from it (backward), on a stream
  /// of their own; no part of the total.
  double copies{};
  /// Communication beside kernels of its own pass; no part of the total.
  double hidden_tp_comm{}, hidden_cp_comm{}, hidden_ep_comm{};

  [[nodiscard]] double total() const {
    return compute + recompute + tp_comm + cp_comm + ep_comm + host;
  }
  /// Seconds of the part of it that a schedule may run apart.
  [[nodiscard]] double for_weights() const { return weight_gradient + weight_gradient_host; }
  PassCost& operator+=(const PassCost& other);
  friend PassCost operator*(double times, PassCost cost);
};
inline constexpr double PassCost::*kPassParts[] = {
    &PassCost::compute,         &PassCost::recompute,
    &PassCost::tp_comm,         &PassCost::cp_comm,
    &PassCost::ep_comm,         &PassCost::host,
    &PassCost::weight_gradient, &PassCost::weight_gradient_host,
    &PassCost::host_beside,     &PassCost::attention,
    &PassCost::stream,          &PassCost::launching,
    &PassCost::copies,          &PassCost::hidden_tp_comm,
    &PassCost::hidden_cp_comm,  &PassCost::hidden_ep_comm};

/// One micro batch on one part, or on one model chunk.
struct PartCost {
  PassCost forward, backward;  ///< backward with what is recomputed
};
struct LayerCosts : PerPart<PartCost> {
  PartWeights weights;
  PerPart<Orthogonalization> orthogonal;  ///< zero with other optimizers
};
using ChunkCosts = PartCost;

/// Prices every operator of the parts that the model has once.
LayerCosts price(const LayerQuestion& question, const Inputs& inputs);

/// Prices the kernels of the parts that the model has.
LayerKernels price_kernels(const LayerQuestion& question, const Inputs& inputs);

ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content);

}  // namespace prequel
