#pragma once

/// Shape, kinds of task and numbers per task that all pipeline schedules share.
///
/// A pipeline of p stages with v chunks each has p·v blocks of layers: chunk c of stage s is block
/// c·p + s, and activations pass the blocks in that order (with v = 1, blocks are stages).

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/plan/gathers.hpp"
#include "sim/engine/lanes.hpp"
#include "sim/engine/price_table.hpp"

namespace prequel {

/// How a stage hands activations and gradients on.
enum class Sends : std::uint8_t {
  overlapped,  ///< on streams of their own, while the sender computes
  blocking,    ///< the sender computes nothing until the transfer is done
};

/// When what a pass exchanges with other ranks (tokens with their experts) is on its way.
enum class Exchanges : std::uint8_t {
  inside,  ///< between its own kernels, so that a pass is one task
  beside,  ///< of a forward while the backward of another micro batch computes, and the other way
           ///< round; only where no other is there to run beside, inside
};

struct PipelineShape {
  std::uint32_t stages = 1;
  std::uint32_t micro_batches = 1;  ///< per step and pipeline
  std::uint32_t chunks = 1;         ///< blocks per stage; more than 1 only where interleaved
  Sends sends = Sends::overlapped;
  /// Equal parts of a block, whose gradients are reduced one by one behind its last backward while
  /// the next parts compute (gradient buckets: Li et al. 2020, "PyTorch Distributed"). 0: none are,
  /// and each stage reduces its gradients at the end.
  std::uint32_t buckets = 0;
  /// When the parameters of these parts are gathered one by one: ahead of the first forward; or
  /// ahead of every forward (and every backward), and then their gradients are reduced behind every
  /// backward. A single stage that does so has its layers as chunks
  /// (sim/schedule/fully_sharded.hpp).
  Gathers gathers = Gathers::never;
  /// True where gradients are also reduced behind every backward (ZeRO-2, which keeps only a shard
  /// of them), where no parameters are gathered then.
  bool reduces_each = false;
  std::uint32_t prefetch = 1;  ///< parts gathered ahead of the one that computes; 0 overlaps none
  /// True where passes go on while a part's gradients are reduced, where parameters are gathered
  /// once or in every micro batch.
  bool reduces_beside = true;
  /// True where a stage gathers what was updated once its gradients are reduced, in buckets like
  /// these.
  bool gathers_at_end = false;
  Exchanges exchanges = Exchanges::inside;
  /// True where activations go to host memory beside each forward and come back beside each
  /// backward. A pass begins when the copies of the one before it on its stage are done, so that
  /// the device holds no more than the activations of the pass that computes.
  bool copies = false;
  /// Micro batches in a row that pass a chunk before the next chunk's turn, where interleaved
  /// (Megatron-Core: microbatch_group_size_per_vp_stage). 0: as many as stages.
  std::uint32_t group = 0;

  [[nodiscard]] std::uint32_t group_size() const { return group > 0 ? group : stages; }
  [[nodiscard]] std::uint32_t blocks() const { return stages * chunks; }
  /// How often one task of a block runs at most.
  [[nodiscard]] double most_runs() const {
    const double parts = buckets > 0 ? buckets : 1.0;
    return in_every_micro_batch(gathers) || reduces_each ? parts * micro_batches
                                                         : std::max<double>(micro_batches, parts);
  }
  [[nodiscard]] bool is_layer_by_layer() const {
    return stages == 1 && in_every_micro_batch(gathers);
  }
};

/// `backward` is run whole by schedules that do not split it; zero-bubble schedules run
/// `input_gradient` and `weight_gradient` in its place. A send moves the block's output (forward)
/// or its input's gradient (backward) to the next block of that direction; none leaves the last.
/// After the last backward of a stage, once per stage, its chunk 0 runs `gradient_reduce`, then
/// `embedding_reduce` (first and last stage, together), `gather_updates` where that is not done
/// with the next step's passes, then `optimizer`. With buckets, the parts
/// of a block's last backward (or weight gradient) run as `backward_bucket`
/// (`weight_gradient_bucket`) and each has a `gradient_reduce`; where parameters are gathered,
/// those of its first forward as `forward_bucket`, each behind a `parameter_gather`; where that is
/// done in every micro batch, all passes run so, and those of a backward each behind a
/// `backward_gather`. Where a forward and a backward run side by side, they are `forward_beside`
/// and `backward_beside` without what they exchange, which is `forward_exchange` and
/// `backward_exchange`. Where activations wait in host memory, `offload_activations` goes beside a
/// forward and `reload_activations` beside a backward (or `input_gradient`), in buckets or not.
enum class TaskKind : std::uint8_t {
  forward,
  backward,
  input_gradient,
  weight_gradient,
  send_forward,
  send_backward,
  gradient_reduce,
  embedding_reduce,
  optimizer,
  parameter_gather,
  forward_bucket,
  backward_bucket,
  weight_gradient_bucket,
  forward_beside,
  backward_beside,
  forward_exchange,
  backward_exchange,
  backward_gather,
  offload_activations,
  reload_activations,
  gather_updates,
};

/// The streams that each stage has.
enum class StageStream : std::uint8_t {
  compute,
  send_forward,
  send_backward,
  communication,
  exchange_forward,
  exchange_backward,
  offload,
  reload
};
inline constexpr std::uint32_t kStageStreams = 8;

/// The effect of a task on the activations of the micro batch that passes its block.
enum class Keeps : std::uint8_t { nothing, takes, frees };

struct TaskTraits {
  TaskKind kind;
  TaskKind part_of;    ///< the whole pass of which it is all or a part; of the others, itself
  StageStream stream;  ///< blocking sends are on `compute`
  LaneSync sync;       ///< of the ranks of its stage
  Keeps activations;
  bool in_buckets;  ///< one of `PipelineShape::buckets`, where the block has any
  std::string_view name;

  /// Tests whether it computes layers.
  [[nodiscard]] constexpr bool is_pass() const { return sync == LaneSync::group; }
  [[nodiscard]] constexpr bool is_send() const {
    return stream == StageStream::send_forward || stream == StageStream::send_backward;
  }
  [[nodiscard]] constexpr bool is_copy() const {
    return stream == StageStream::offload || stream == StageStream::reload;
  }
  [[nodiscard]] constexpr bool is_exchange() const {
    return stream == StageStream::exchange_forward || stream == StageStream::exchange_backward;
  }
};

inline constexpr std::array kTasks = [] {
  using enum TaskKind;
  using S = StageStream;
  using L = LaneSync;
  using K = Keeps;
  return std::to_array<TaskTraits>({
      {forward, forward, S::compute, L::group, K::takes, false, "forward"},
      {backward, backward, S::compute, L::group, K::frees, false, "backward"},
      {input_gradient, input_gradient, S::compute, L::group, K::nothing, false, "input gradient"},
      {weight_gradient, weight_gradient, S::compute, L::group, K::frees, false, "weight gradient"},
      {send_forward, send_forward, S::send_forward, L::none, K::nothing, false, "send activations"},
      {send_backward, send_backward, S::send_backward, L::none, K::nothing, false,
       "send gradients"},
      {gradient_reduce, gradient_reduce, S::communication, L::across, K::nothing, true,
       "reduce gradients"},
      {embedding_reduce, embedding_reduce, S::communication, L::none, K::nothing, false,
       "reduce embedding"},
      {optimizer, optimizer, S::compute, L::none, K::nothing, false, "optimizer"},
      {parameter_gather, parameter_gather, S::communication, L::across, K::nothing, true,
       "gather parameters"},
      {forward_bucket, forward, S::compute, L::group, K::takes, true, "forward"},
      {backward_bucket, backward, S::compute, L::group, K::frees, true, "backward"},
      {weight_gradient_bucket, weight_gradient, S::compute, L::group, K::frees, true,
       "weight gradient"},
      {forward_beside, forward, S::compute, L::group, K::takes, false, "forward"},
      {backward_beside, backward, S::compute, L::group, K::frees, false, "backward"},
      {forward_exchange, forward_exchange, S::exchange_forward, L::wide, K::nothing, false,
       "exchange tokens"},
      {backward_exchange, backward_exchange, S::exchange_backward, L::wide, K::nothing, false,
       "exchange gradients of tokens"},
      {backward_gather, backward_gather, S::communication, L::across, K::nothing, true,
       "gather parameters"},
      {offload_activations, offload_activations, S::offload, L::none, K::nothing, false,
       "copy activations to the host"},
      {reload_activations, reload_activations, S::reload, L::none, K::nothing, false,
       "copy activations back"},
      {gather_updates, gather_updates, S::communication, L::across, K::nothing, false,
       "gather parameters"},
  });
}();
inline constexpr std::uint32_t kTaskKinds = kTasks.size();

constexpr const TaskTraits& traits(TaskKind kind) {
  return kTasks[static_cast<std::size_t>(kind)];
}

/// Returns the number of streams of all stages.
constexpr std::size_t stream_count(const PipelineShape& shape) {
  return std::size_t{shape.stages} * kStageStreams;
}

/// As many as labels tell apart.
inline constexpr std::uint32_t kPlayedChunks = 1U << 8U;
inline constexpr std::uint32_t kPlayedStages = 1U << 16U;

constexpr StreamId stream_of(StageStream stream, std::uint32_t stage) {
  return stage * kStageStreams + static_cast<StreamId>(stream);
}

/// One number for each kind of task on each block: its duration (s), or what it takes and frees.
/// Starts with zeros; `values()` is indexed by PriceId.
class BlockTable {
 public:
  explicit BlockTable(const PipelineShape& shape) : stages_(shape.stages), table_(shape.blocks()) {}

  [[nodiscard]] double& at(TaskKind kind, std::uint32_t stage, std::uint32_t chunk = 0) {
    return table_.at(kind, chunk * stages_ + stage);
  }
  [[nodiscard]] double at(TaskKind kind, std::uint32_t stage, std::uint32_t chunk = 0) const {
    return table_.at(kind, chunk * stages_ + stage);
  }
  [[nodiscard]] std::span<const double> values() const { return table_.values(); }

  static constexpr PriceId price(TaskKind kind, std::uint32_t block, std::uint32_t blocks) {
    return PriceTable<TaskKind, kTaskKinds>::price(kind, block, blocks);
  }

 private:
  std::uint32_t stages_;
  PriceTable<TaskKind, kTaskKinds> table_;
};

}  // namespace prequel
