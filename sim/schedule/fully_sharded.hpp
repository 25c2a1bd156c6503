#pragma once

/// Fully sharded data parallelism (ZeRO-3: Rajbhandari et al. 2020; FSDP: Zhao et al. 2023) on one
/// stage, whose chunks are the layers and, as the last, the root. Each layer's parameters are
/// gathered before its forward and again before its backward, up to `prefetch` layers ahead of the
/// one that computes, and its gradient is reduce-scattered behind its backward; in every micro
/// batch. All ranks do the same, so one stands for all.
///
/// The root (embedding and head) is gathered first, with nothing to overlap it, and kept until its
/// gradient is reduced last. Its forward is the head's, after the layers, its backward the first.

#include <vector>

#include "sim/schedule/pipeline.hpp"

namespace prequel {

/// Without the step's end, as all schedules.
template <Reader R>
void emit_fully_sharded(const PipelineShape& shape, R& reader) {
  using Token = typename R::Token;
  const auto run = [&](StageStream stream, TaskKind task, std::uint32_t unit,
                       std::uint32_t micro_batch, auto... after) {
    const Label label{static_cast<std::uint8_t>(task), 0, 0, micro_batch};
    return reader.run(stream_of(stream, 0), BlockTable::price(task, unit, shape.blocks()), label,
                      after...);
  };
  using enum TaskKind;
  constexpr StageStream compute = StageStream::compute;
  constexpr StageStream communication = StageStream::communication;
  // A layer with the copies beside it, as in PipelineEmitter.
  const auto pass = [&](TaskKind task, std::uint32_t unit, std::uint32_t batch, auto... after) {
    if (!shape.copies) return run(compute, task, unit, batch, after...);
    const bool is_forward = task == forward;
    const StageStream stream = is_forward ? StageStream::offload : StageStream::reload;
    const Token offloaded = reader.last(stream_of(StageStream::offload, 0));
    const Token reloaded = reader.last(stream_of(StageStream::reload, 0));
    const Token begun = reader.last(stream_of(compute, 0));
    run(stream, is_forward ? offload_activations : reload_activations, unit, batch, begun,
        offloaded, reloaded, after...);
    return run(compute, task, unit, batch, offloaded, reloaded, after...);
  };
  const std::uint32_t layers = shape.chunks - 1;
  const std::uint32_t root = layers;

  std::vector<Token> gathered(layers);
  std::vector<Token> computed(layers);
  // The i-th gather of a pass may begin as soon as the layer `prefetch` places before it computes,
  // which is once the place before that is done. `first` and `before` end at places -1 and -2.
  const auto may_gather = [&](std::uint32_t i, Token before, Token first) {
    if (i > shape.prefetch) return computed[i - shape.prefetch - 1];
    return i == shape.prefetch ? first : before;
  };

  Token turned{};  // end of the last pass
  reader.begin_repeating();
  for (std::uint32_t batch = 0; batch < shape.micro_batches; ++batch) {
    const Token root_gathered = run(communication, parameter_gather, root, batch, turned);
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < layers; ++i) {
      for (; next < layers && next <= i + shape.prefetch; ++next) {
        gathered[next] =
            run(communication, parameter_gather, next, batch, may_gather(next, turned, turned));
      }
      computed[i] = pass(forward, i, batch, gathered[i], root_gathered);
    }
    turned = pass(forward, root, batch, root_gathered);

    const Token root_done = pass(backward, root, batch);
    next = 0;
    Token reduced{};  // where no pass goes on beside it
    for (std::uint32_t i = 0; i < layers; ++i) {
      const std::uint32_t layer = layers - 1 - i;
      for (; shape.gathers == Gathers::each_pass && next < layers && next <= i + shape.prefetch;
           ++next) {
        gathered[next] = run(communication, backward_gather, layers - 1 - next, batch,
                             may_gather(next, turned, root_done));
      }
      computed[i] = pass(backward, layer, batch, gathered[i], reduced);
      const Token done = run(communication, gradient_reduce, layer, batch, computed[i]);
      if (!shape.reduces_beside) reduced = done;
    }
    turned = reader.last(stream_of(compute, 0));
    run(communication, gradient_reduce, root, batch, turned);
    batch += reader.skip(shape.micro_batches - 1 - batch, {&turned, 1});
  }
}

}  // namespace prequel
