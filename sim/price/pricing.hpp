#pragma once

/// What the work of one pipeline stage costs on its devices: operators of models/, priced by hw/.

#include <cstdint>
#include <vector>

#include "hw/cluster.hpp"
#include "hw/device.hpp"
#include "models/layers/operators.hpp"
#include "models/plan/plan.hpp"
#include "models/plan/stages.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// All that a prediction starts from; the plan is resolved.
struct Scenario {
  Transformer model;
  Device device;
  Cluster cluster;
  Software software;
  Plan plan;
};

/// Seconds of one pass over a stage, by what they are spent on.
struct PassCost {
  double compute{};          ///< kernels
  double recompute{};        ///< kernels that repeat the forward pass
  double tp_comm{};          ///< exposed tensor-parallel collectives, repeated ones included
  double host{};             ///< launches that the device waits for
  double weight_gradient{};  ///< part of `compute`: products that no earlier layer waits for

  [[nodiscard]] double total() const { return compute + recompute + tp_comm + host; }
  PassCost& operator+=(const PassCost& other);
  friend PassCost operator*(double times, PassCost cost) {
    return {times * cost.compute, times * cost.recompute, times * cost.tp_comm, times * cost.host,
            times * cost.weight_gradient};
  }
};

/// Costs of one micro batch on the parts of which stages are made.
struct LayerCosts {
  PassCost block_forward, block_backward;  ///< backward with what is recomputed
  PassCost embedding_forward, embedding_backward;
  PassCost head_forward, head_backward;
};

/// Prices every operator once.
LayerCosts price_layers(const Scenario& scenario);

/// One micro batch on one model chunk.
struct ChunkCosts {
  PassCost forward, backward;
};
ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content);

/// Time of sending one micro batch's hidden states (or their gradients) to the next stage.
Seconds stage_transfer_time(const Scenario& scenario);

/// Reduction of the gradients of `parameters` per rank over the data-parallel group: to all of
/// them, or with ZeRO 1 or 2 to the rank that owns them.
Seconds gradient_reduce_time(const Scenario& scenario, double parameters);

/// With ZeRO 1 or 2, gathering as many updated parameters.
Seconds parameter_gather_time(const Scenario& scenario, double parameters);

/// All-reduce of the tied embedding's gradient between the first and the last stage.
Seconds tied_embedding_time(const Scenario& scenario);

/// The optimizer's pass over the states that one rank owns of `parameters`.
Seconds optimizer_time(const Scenario& scenario, double parameters);

}  // namespace prequel
