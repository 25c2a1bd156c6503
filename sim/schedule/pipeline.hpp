#pragma once

/// What all pipeline schedules share: their shape, their kinds of task, and the numbers per task.
///
/// A pipeline of p stages with v chunks each has p·v blocks of layers: chunk c of stage s is block
/// c·p + s, and activations pass the blocks in that order (with v = 1, blocks are stages).

#include <cstdint>
#include <span>

#include "sim/engine/price_table.hpp"

namespace prequel {

/// How a stage hands activations and gradients on.
enum class Sends : std::uint8_t {
  overlapped,  ///< on streams of their own, while the sender computes
  blocking,    ///< the sender computes nothing until the transfer is done
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
  /// Whether the parameters of these parts are gathered one by one ahead of the first forward, as
  /// sharded optimizers (ZeRO-1 and 2) leave each rank with a share of the updated ones.
  bool gathers = false;

  [[nodiscard]] std::uint32_t blocks() const { return stages * chunks; }
};

/// `backward` is run whole by schedules that do not split it; zero-bubble schedules run
/// `input_gradient` and `weight_gradient` in its place. A send moves the block's output (forward)
/// or its input's gradient (backward) to the next block of that direction; none leaves the last.
/// After the last backward of a stage, once per stage, its chunk 0 runs `gradient_reduce`, then
/// `embedding_reduce` (first and last stage, together), then `optimizer`. With buckets, the parts
/// of a block's last backward (or weight gradient) run as `backward_bucket`
/// (`weight_gradient_bucket`) and each has a `gradient_reduce`; where parameters are gathered,
/// those of its first forward as `forward_bucket`, each behind a `parameter_gather`.
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
};
inline constexpr std::uint32_t kTaskKinds = 13;

/// The streams that each stage has.
enum class StageStream : std::uint8_t { compute, send_forward, send_backward, communication };
inline constexpr std::uint32_t kStageStreams = 4;

/// Of all stages.
constexpr std::size_t stream_count(const PipelineShape& shape) {
  return std::size_t{shape.stages} * kStageStreams;
}

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
