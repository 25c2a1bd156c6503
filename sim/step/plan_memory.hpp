#pragma once

/// The memory of a plan, stage by stage. It needs no times.

#include <cstdint>
#include <vector>

#include "models/memory/memory.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

struct PlanMemory {
  std::vector<StageMemory> stages;  ///< as printed
  std::size_t fullest{};
  Bytes peak;  ///< of the fullest stage, as printed by nvidia-smi
  MemoryVerdict verdict{};

  /// Returns the bytes that the fullest stage cannot give back.
  [[nodiscard]] Bytes needed() const { return stages[fullest].needed(); }
};

/// The model chunks that each stage holds.
using StageChunks = std::vector<std::vector<StageContent>>;
/// Depends on the model and on the plan's schedule, pp, vpp, layout and stage split alone.
StageChunks stage_chunks(const Scenario& scenario);

/// The (micro batch, model chunk) pairs that each stage holds between forward and backward.
/// Depends on the plan's schedule, pp, vpp, ZeRO stage and number of micro batches alone.
std::vector<InFlight> chunks_in_flight(const Plan& plan, const Software& software);

/// Returns the weights of the parts of the scenario's model in its plan.
PartWeights weights_of(const Scenario& scenario);

/// `weights` as `weights_of` says, `in_flight` as `chunks_in_flight` does.
PlanMemory plan_memory(const Scenario& scenario, const PartWeights& weights,
                       const std::vector<InFlight>& in_flight);
/// With `chunks` as `stage_chunks` says.
PlanMemory plan_memory(const Scenario& scenario, const PartWeights& weights,
                       const StageChunks& chunks, const std::vector<InFlight>& in_flight);

}  // namespace prequel
