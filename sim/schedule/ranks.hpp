#pragma once

/// A schedule on all ranks of all its replicas, each rank with its own speed.

#include <cstdint>
#include <vector>

#include "sim/engine/lanes.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {

/// The ranks of a stage: rank r is member r mod `tensor_parallel` of replica r / `tensor_parallel`.
struct StageRanks {
  std::uint32_t tensor_parallel = 1;
  std::uint32_t data_parallel = 1;
  /// How often the tensor-parallel group synchronises in one pass over a block of layers.
  std::uint32_t synchronisations = 1;
  std::uint32_t kernels = 4;  ///< between two of these, each of which jitters by itself

  [[nodiscard]] std::uint32_t count() const { return tensor_parallel * data_parallel; }
};

/// By how much ranks are slower than the durations say; 1 is not at all. Indexed by
/// stage * ranks.count() + rank; empty: no rank is.
struct RankSlowness {
  std::vector<double> compute;
  std::vector<double> sends;  ///< of the links to the neighbouring stages
};

/// Seconds of the step, for each of `samples` draws of the jitter, with seeds from `jitter.seed`
/// on. Tensor-parallel groups wait for their slowest rank at each synchronisation, a rank for the
/// same rank of the stage before, and replicas for one another when parameters are gathered or
/// gradients reduced. With all ranks alike it is that of run_clock.
[[nodiscard]] std::vector<double> run_ranks(Schedule kind, const PipelineShape& shape,
                                            const BlockTable& durations, const StageRanks& ranks,
                                            const RankSlowness& slowness, Jitter jitter = {},
                                            std::uint32_t samples = 1);

}  // namespace prequel
