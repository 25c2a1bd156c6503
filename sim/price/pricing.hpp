#pragma once

/// Cost of one pipeline stage's work on its devices: operators of models/, priced by hw/.

#include <cstdint>
#include <vector>

#include "models/job/inputs.hpp"
#include "models/layers/operators.hpp"
#include "models/layers/parts.hpp"
#include "models/memory/memory.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/stages.hpp"
#include "sim/price/kernel_costs.hpp"
#include "sim/price/optimizer_pricing.hpp"

namespace prequel {

/// Seconds of communication that runs beside kernels of its own pass.
struct HiddenComm {
  double tp_comm{}, cp_comm{}, ep_comm{};
};

/// Seconds of one pass over a stage, by what they are spent on.
struct PassCost {
  double compute{};          ///< kernels
  double recompute{};        ///< kernels that repeat the forward pass
  double tp_comm{};          ///< exposed tensor-parallel collectives, repeated ones included
  double cp_comm{};          ///< the same of context ranks
  double ep_comm{};          ///< and of expert ranks: dispatch and combine
  double host{};             ///< launches that the device waits for
  double weight_gradient{};  ///< part of `compute`: products that no earlier layer waits for
  double attention{};        ///< part of `compute` and `recompute`
  double stream{};           ///< part of `compute` and `recompute`: memory-bound kernels
  /// Seconds in which the host launches it, ahead of the device; no part of the total. 0 where the
  /// device waits for each launch anyway.
  double launching{};
  /// Seconds of copies of activations to host memory (forward) or from it (backward), on a stream
  /// of their own; no part of the total.
  double copies{};
  HiddenComm hidden;  ///< no part of the total

  [[nodiscard]] double total() const {
    return compute + recompute + tp_comm + cp_comm + ep_comm + host;
  }
  PassCost& operator+=(const PassCost& other);
  friend PassCost operator*(double times, PassCost cost);
};

/// One micro batch on one part, or on one model chunk.
struct PartCost {
  PassCost forward, backward;  ///< backward with what is recomputed
};
struct LayerCosts : PerPart<PartCost> {
  PartWeights weights;
  PerPart<Orthogonalization> orthogonal;  ///< zero with other optimizers
};
using ChunkCosts = PartCost;

/// The inputs of a layer's price besides model, device, cluster and stack. Groups inside a node
/// cost the same in any job; the price of others depends on the number of ranks.
struct LayerQuestion {
  LayerSetting setting;
  WordSet<Module> repeated;
  double repeated_blocks{1};  ///< share of the blocks that repeat these
  bool staged_over_nodes{};   ///< in a pipeline that spans nodes
  std::int64_t gpus{};        ///< of the job; 0: all groups of a layer lie inside a node
  WordSet<Overlapped> overlap;
  bool beside{};  ///< tokens are exchanged with experts beside another micro batch
  WordSet<GraphedModule> graphs;
  WordSet<OffloadModule> offloaded;
  std::int64_t offloaded_layers{};
  Optimizer optimizer{};
  std::int64_t references{};  ///< models that run forward beside the one that learns

  auto operator<=>(const LayerQuestion&) const = default;
};
LayerQuestion layer_question(const Plan& plan, const Cluster& cluster);

/// Prices every operator of the parts that the model has once.
LayerCosts price_layers(const Scenario& scenario);

/// The kernels of the parts that the model has.
LayerKernels price_kernels(const Scenario& scenario);

ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content);

}  // namespace prequel
