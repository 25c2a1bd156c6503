#pragma once

/// A schedule on all ranks of all its replicas, each rank with its own speed.

#include <cstdint>
#include <vector>

#include "sim/engine/lanes.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {

/// How often the ranks of a stage synchronise in one pass over a block of layers.
struct Meetings {
  std::uint32_t all = 1;
  /// Meetings, in pairs and counted in `all`, at which groups that exchange tokens dispatch and
  /// combine them. The others are of tensor-parallel groups.
  std::uint32_t exchanges = 0;
};

/// The ranks of a stage: rank r is member r mod `tensor_parallel` of replica r / `tensor_parallel`,
/// and exchanges tokens with those of group r / `expert_parallel`.
struct StageRanks {
  std::uint32_t tensor_parallel = 1;
  std::uint32_t data_parallel = 1;
  std::vector<Meetings> meetings = {{}};  ///< by block; one stands for all
  std::uint32_t kernels = 4;              ///< between two of these, each of which jitters by itself
  std::uint32_t expert_parallel = 1;

  [[nodiscard]] std::uint32_t count() const { return tensor_parallel * data_parallel; }
};

/// By how much ranks are slower than the durations say; 1 is not at all. Indexed by
/// stage * ranks.count() + rank; empty: no rank is.
struct RankSlowness {
  std::vector<double> compute;
  std::vector<double> sends;  ///< of the links to the neighbouring stages
};

/// Seconds of the step, for each of `samples` draws of the jitter, with seeds from `jitter.seed`
/// on. Groups of ranks wait for their slowest at each synchronisation, a rank for the same rank of
/// the stage before, and replicas for one another when parameters are gathered or gradients
/// reduced. With all ranks alike it is that of run_clock. Where `jitter` draws loads, tasks take
/// `per_load` seconds more for each time the mean load beyond it.
[[nodiscard]] std::vector<double> run_ranks(Schedule kind, const PipelineShape& shape,
                                            const BlockTable& durations, const StageRanks& ranks,
                                            const RankSlowness& slowness, Jitter jitter = {},
                                            std::uint32_t samples = 1,
                                            const BlockTable* per_load = nullptr);

}  // namespace prequel
