#pragma once

/// Fully sharded data parallelism (ZeRO-3: Rajbhandari et al. 2020; FSDP: Zhao et al. 2023). Each
/// layer's parameters are gathered before its forward and again before its backward, up to
/// `prefetch` layers ahead of the one that computes, and its gradient is reduce-scattered behind
/// its backward; in every micro batch. All ranks do the same, so one stands for all.
///
/// The root (embedding and head) is gathered first, with nothing to overlap it, and kept until its
/// gradient is reduced last. Its forward is the head's, after the layers, its backward the first.

#include <cstdint>
#include <vector>

#include "sim/engine/price_table.hpp"
#include "sim/engine/task_graph.hpp"

namespace prequel {

struct ShardedShape {
  std::uint32_t layers = 1;
  std::uint32_t micro_batches = 1;
  std::uint32_t prefetch = 1;         ///< layers gathered ahead; 0 overlaps no gather
  bool reshard_after_forward = true;  ///< else the backward needs no gather (SHARD_GRAD_OP)

  [[nodiscard]] std::uint32_t root() const { return layers; }
  [[nodiscard]] std::uint32_t units() const { return layers + 1; }
};

/// Communication and computation that overlap slow each other: whoever fills the table adds that
/// to both. `optimizer` runs once, as the root's.
enum class ShardedTask : std::uint8_t {
  forward_gather,
  forward,
  backward_gather,
  backward,
  reduce_scatter,
  optimizer,
};
inline constexpr std::uint32_t kShardedTasks = 6;

/// A duration (s) for each kind of task on each layer and on `root()`.
using ShardedTable = PriceTable<ShardedTask, kShardedTasks>;

/// A communication stream, as one process group has.
enum class ShardedStream : std::uint8_t { compute, communication };
inline constexpr std::uint32_t kShardedStreams = 2;

struct ShardedResult {
  double seconds{};        ///< of the step
  double computing{};      ///< sum over the compute stream; the rest of the step waits for
                           ///< communication
  double communicating{};  ///< sum over the communication stream
};

/// The step's times for `durations` in seconds, each ≥ 0.
[[nodiscard]] ShardedResult run_clock(const ShardedShape& shape, const ShardedTable& durations);

/// All tasks of the step, on the streams of ShardedStream, with a ShardedTask as label's kind and
/// the layer as its stage.
[[nodiscard]] TaskGraph build_graph(const ShardedShape& shape);

template <Reader R>
void emit_fully_sharded(const ShardedShape& shape, R& reader) {
  using Token = typename R::Token;
  const auto run = [&](ShardedStream stream, ShardedTask task, std::uint32_t unit,
                       std::uint32_t micro_batch, auto... after) {
    const Label label{static_cast<std::uint8_t>(task), 0, static_cast<std::uint16_t>(unit),
                      micro_batch};
    return reader.run(static_cast<StreamId>(stream), ShardedTable::price(task, unit, shape.units()),
                      label, after...);
  };
  using enum ShardedStream;
  using enum ShardedTask;

  std::vector<Token> gathered(shape.layers);
  std::vector<Token> computed(shape.layers);
  // The i-th gather of a pass may begin as soon as the layer `prefetch` places before it computes,
  // which is once the place before that is done. `first` and `before` end at places -1 and -2.
  const auto may_gather = [&](std::uint32_t i, Token before, Token first) {
    if (i > shape.prefetch) return computed[i - shape.prefetch - 1];
    return i == shape.prefetch ? first : before;
  };

  Token turned{};  // end of the last pass
  reader.begin_repeating();
  for (std::uint32_t batch = 0; batch < shape.micro_batches; ++batch) {
    const Token root = run(communication, forward_gather, shape.root(), batch, turned);
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < shape.layers; ++i) {
      for (; next < shape.layers && next <= i + shape.prefetch; ++next) {
        gathered[next] =
            run(communication, forward_gather, next, batch, may_gather(next, turned, turned));
      }
      computed[i] = run(compute, forward, i, batch, gathered[i], root);
    }
    turned = run(compute, forward, shape.root(), batch, root);

    const Token root_done = run(compute, backward, shape.root(), batch);
    next = 0;
    for (std::uint32_t i = 0; i < shape.layers; ++i) {
      const std::uint32_t layer = shape.layers - 1 - i;
      for (; shape.reshard_after_forward && next < shape.layers && next <= i + shape.prefetch;
           ++next) {
        gathered[next] = run(communication, backward_gather, shape.layers - 1 - next, batch,
                             may_gather(next, turned, root_done));
      }
      computed[i] = run(compute, backward, layer, batch, gathered[i]);
      run(communication, reduce_scatter, layer, batch, computed[i]);
    }
    turned = reader.last(static_cast<StreamId>(compute));
    run(communication, reduce_scatter, shape.root(), batch, turned);
    batch += reader.skip(shape.micro_batches - 1 - batch, {&turned, 1});
  }
  run(compute, optimizer, shape.root(), 0, reader.last(static_cast<StreamId>(communication)));
}

}  // namespace prequel
