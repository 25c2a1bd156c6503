#pragma once

/// When each task of an iteration runs and what is held meanwhile, for reports and traces; and
/// where the time of each stage goes.

#include <cstdint>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/step/step.hpp"

namespace prequel {

/// One task of a stage that takes time; every data-parallel replica runs the same.
struct TimelineSlice {
  TaskKind kind{};
  StageStream stream{};
  std::uint16_t stage{};
  std::uint8_t chunk{};
  bool critical{};        ///< on the critical path: a delay of it delays the iteration
  std::uint32_t block{};  ///< index into `Timeline::blocks`
  std::uint32_t micro_batch{};
  std::uint32_t bucket{};  ///< which of `buckets` that the block is passed or reduced in
  std::uint32_t buckets{1};
  double start_s{};  ///< since the iteration began
  double end_s{};
};

/// A transfer between stages: indices of the slice that sends and the one that waits for it.
struct TimelineTransfer {
  std::uint32_t from{}, to{};
};

struct MemoryPoint {
  double time_s{};
  Bytes held;         ///< from then on, as the memory model counts it
  Bytes activations;  ///< of it, between a forward pass and its backward
  Bytes buffers;      ///< of it, of what computes: logits, a layer's gradients, what is gathered
  Bytes gradients;    ///< of it, where they are freed between steps
  Bytes given_back;   ///< that the allocator keeps for itself as long as there is room
};

struct Timeline {
  double seconds{};  ///< of the iteration, as predicted
  std::vector<StepBlock> blocks;
  std::vector<TimelineSlice> slices;  ///< those of one stream of a stage in order
  std::vector<TimelineTransfer> transfers;
  std::vector<std::vector<MemoryPoint>> memory;  ///< of each stage
};

/// Where the iteration of one stage goes. The first four add up to it.
struct StageShare {
  double computing_s{};      ///< kernels, recomputed ones and the optimizer
  double communicating_s{};  ///< exposed: collectives and transfers that nothing hides
  double bubble_s{};         ///< waiting for other stages
  double host_s{};           ///< launches that the device waits for; fixed time per iteration
  double critical_s{};       ///< of the critical path that runs on this stage
};

/// Where the iterations of all stages go.
struct StageShares {
  double seconds{};  ///< of the iteration, as predicted
  std::vector<StageShare> stages;
};

/// Passes over stages, or over fully sharded layers, that one iteration makes: time and memory of
/// a timeline grow with them.
std::int64_t timeline_passes(const Scenario& scenario);
/// More of them are more than anyone looks at.
inline constexpr std::int64_t kMostTimelinePasses = 1 << 18;
/// The largest global batch of the plan that makes no more.
std::int64_t most_timeline_gbs(const Scenario& scenario);

/// Plays the iteration for its critical path; all else the prediction says.
StageShares stage_shares(const Scenario& scenario, const Prediction& prediction);

/// Plays the iteration that `predict` predicts. Throws InputError as that does.
Timeline timeline(const Scenario& scenario);

}  // namespace prequel
