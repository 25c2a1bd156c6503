#pragma once

/// What the work of one pipeline stage costs on its devices: operators of models/, priced by hw/.

#include <cstdint>
#include <vector>

#include "models/job/inputs.hpp"
#include "models/layers/operators.hpp"
#include "models/layers/parts.hpp"
#include "models/memory/memory.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/stages.hpp"
#include "sim/price/kernel_costs.hpp"

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
  /// What the host takes to launch it, ahead of the device; no part of the total. 0 where the
  /// device waits for each launch anyway.
  double launching{};
  /// What copies of activations to host memory (forward) or from it (backward) take, on a stream of
  /// their own; no part of the total.
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
/// Seconds that Muon takes to orthogonalise the momentum of what a rank holds of one part, by the
/// groups over which ZeRO shards it, and of its largest matrix.
struct Orthogonalization {
  double dense{}, experts{}, largest{};
};
struct LayerCosts : PerPart<PartCost> {
  PartWeights weights;
  PerPart<Orthogonalization> orthogonal;  ///< zero with other optimizers
};
using ChunkCosts = PartCost;

/// What the price of a layer depends on, besides model, device, cluster and stack. Groups inside a
/// node cost the same in any job; others depend on how many ranks there are.
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

  auto operator<=>(const LayerQuestion&) const = default;
};
LayerQuestion layer_question(const Plan& plan, const Cluster& cluster);

/// Whether tokens are exchanged with experts beside another micro batch's passes: where the plan
/// asks for it and the schedule has a forward and a backward to run side by side.
bool exchanges_beside(const Plan& plan);
/// The share of these exchanges that finds something to run beside it, as kernels depend on each
/// other inside a layer, too; 0 where they are inside the passes.
double exchange_beside(const Scenario& scenario);

/// Prices every operator of the parts that the model has once.
LayerCosts price_layers(const Scenario& scenario);

/// The kernels of the parts that the model has.
LayerKernels price_kernels(const Scenario& scenario);

ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content);

/// Adding one micro batch's gradients of `parameters` to those before it.
Seconds accumulation_time(const Scenario& scenario, const StageParameters& parameters);

/// Time of communication, and the part of it in which links between nodes carry what is sent.
struct CommTime {
  Seconds all{};
  Seconds network{};

  CommTime& operator+=(const CommTime& other) {
    all += other.all;
    network += other.network;
    return *this;
  }
  friend CommTime operator*(double times, const CommTime& time) {
    return {times * time.all, times * time.network};
  }
};

/// Share of the shorter of a kernel and a collective side by side that both lose: as runs of the
/// software tell, else as the device's do.
double overlap_loss(const Scenario& scenario);

/// Whether device links join every rank of a stage to its counterpart on another.
bool stages_are_joined(const Scenario& scenario, std::int64_t from, std::int64_t to);

/// Time of sending one micro batch's hidden states (or their gradients) from a stage to another,
/// as all ranks do at once: over device links where these join the two, else over the network.
CommTime stage_transfer_time(const Scenario& scenario, std::int64_t from, std::int64_t to);

/// Gradients per rank that the stack reduces together over a group of replicas; 0: it states none.
double bucket_parameters(const Scenario& scenario, GroupAxis axis);

/// Reduction of the gradients of `parameters` per rank over the data-parallel group: to all of
/// them, or with ZeRO to the rank that owns them (with hybrid sharding: to those of all nodes).
CommTime gradient_reduce_time(const Scenario& scenario, const StageParameters& parameters);

/// With ZeRO, gathering as many parameters.
CommTime parameter_gather_time(const Scenario& scenario, const StageParameters& parameters);

/// Where host memory holds the weights: a rank's share of `parameters` on its way to the device.
Seconds offloaded_weights_time(const Scenario& scenario, const StageParameters& parameters);

/// All-reduce of the tied embedding's gradient between the first and the last stage.
CommTime tied_embedding_time(const Scenario& scenario);

/// The optimizer's pass over the states that one rank owns of a stage of these chunks, which hold
/// `parameters`. What of the moments host memory holds is updated there meanwhile. Muon (Jordan
/// 2024; distributed as in Liu et al., arXiv 2502.16982, sections 2.1 and 2.3) has one moment for
/// matrices, gathers what it orthogonalises in 16 bits from those that share a matrix, and takes
/// five Newton-Schulz steps: of an n x m matrix, n the shorter side, X·X', its square and their
/// product with X, 4·n²·m + 2·n³ FLOP. Ranks share the matrices, each on its tensor rank's part.
Seconds optimizer_time(const Scenario& scenario, const LayerCosts& layers,
                       const std::vector<StageContent>& chunks_of_stage,
                       const StageParameters& parameters);

}  // namespace prequel
