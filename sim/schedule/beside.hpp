#pragma once

/// Time of a forward and a backward side by side, where each exchanges tokens with the experts of
/// other ranks while the other computes (DeepSeek-AI 2024, section 3.2.1; Megatron-Core:
/// overlap_moe_expert_parallel_comm). Layer by layer, the backward's exchange goes with the
/// forward's computing and then the forward's exchange with the backward's computing, so that a
/// pair takes max(F, X_B) + max(B, X_F) in place of F + X_F + B + X_B.

#include <algorithm>

#include "sim/schedule/pipeline.hpp"

namespace prequel {

/// Seconds of a pass beside another's.
struct PassParts {
  double compute{};
  double exchange{};
  double growth{};  ///< of `compute`, against a pass that runs alone

  /// Seconds where one part follows the other.
  [[nodiscard]] double alone() const { return compute + exchange - growth; }
};

/// Sets all that forwards and backwards of a block take, alone or side by side. Links carry one
/// exchange at a time, so a forward whose partner exchanges for longer than it computes lasts as
/// long as that.
inline void set_passes(BlockTable& durations, std::uint32_t stage, std::uint32_t chunk,
                       PassParts forward, PassParts backward) {
  durations.at(TaskKind::forward, stage, chunk) = forward.alone();
  durations.at(TaskKind::backward, stage, chunk) = backward.alone();
  durations.at(TaskKind::forward_beside, stage, chunk) =
      std::max(forward.compute, backward.exchange);
  durations.at(TaskKind::backward_exchange, stage, chunk) = backward.exchange;
  durations.at(TaskKind::backward_beside, stage, chunk) = backward.compute;
  durations.at(TaskKind::forward_exchange, stage, chunk) = forward.exchange;
}

}  // namespace prequel
