#pragma once

/// The tasks of a pipeline, told to a reader with stream, price and label filled in. Schedules are
/// written in terms of these.

#include "sim/schedule/pipeline.hpp"

namespace prequel {

template <class Reader>
class PipelineEmitter {
 public:
  using Token = typename Reader::Token;

  PipelineEmitter(const PipelineShape& shape, Reader& reader) : shape_(shape), reader_(reader) {}

  /// Forward of one micro batch through one block, once its input has `arrived`. Returns what the
  /// next block waits for.
  Token forward(std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
                Token arrived) {
    return pass(TaskKind::forward, stage, chunk, micro_batch, arrived,
                !is_last_block(stage, chunk));
  }

  /// The whole backward. Returns what the block before waits for.
  Token backward(std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
                 Token arrived) {
    return pass(TaskKind::backward, stage, chunk, micro_batch, arrived,
                !is_first_block(stage, chunk));
  }

  /// The part of the backward that the block before waits for.
  Token input_gradient(std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
                       Token arrived) {
    return pass(TaskKind::input_gradient, stage, chunk, micro_batch, arrived,
                !is_first_block(stage, chunk));
  }

  /// The rest of the backward, which nobody but the optimizer waits for.
  void weight_gradient(std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch) {
    compute(TaskKind::weight_gradient, stage, chunk, micro_batch, Token{});
  }

  /// A pass without handing on its result.
  template <class... Tokens>
  Token compute(TaskKind kind, std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
                Tokens... after) {
    return run(StageStream::compute, kind, stage, chunk, micro_batch, after...);
  }

  /// Sends what a pass of `kind` has `computed`. Returns what the receiver waits for.
  Token hand_on(TaskKind kind, std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
                Token computed) {
    const bool is_forward = kind == TaskKind::forward;
    StageStream stream = StageStream::compute;
    if (shape_.sends == Sends::overlapped) {
      stream = is_forward ? StageStream::send_forward : StageStream::send_backward;
    }
    return run(stream, is_forward ? TaskKind::send_forward : TaskKind::send_backward, stage, chunk,
               micro_batch, computed);
  }

  /// What each stage does once its last backward is done; the same after every schedule.
  void step_end() {
    const std::uint32_t last = shape_.stages - 1;
    for (std::uint32_t stage = 0; stage <= last; ++stage) {
      const Token done = reader_.last(stream_of(StageStream::compute, stage));
      once(StageStream::communication, TaskKind::gradient_reduce, stage, done);
    }
    if (last > 0) {
      // One collective on both stages: it starts when both are there.
      const Token first_ready = reader_.last(stream_of(StageStream::communication, 0));
      const Token last_ready = reader_.last(stream_of(StageStream::communication, last));
      once(StageStream::communication, TaskKind::embedding_reduce, 0, last_ready);
      once(StageStream::communication, TaskKind::embedding_reduce, last, first_ready);
    }
    for (std::uint32_t stage = 0; stage <= last; ++stage) {
      const Token reduced = reader_.last(stream_of(StageStream::communication, stage));
      once(StageStream::compute, TaskKind::optimizer, stage, reduced);
    }
  }

 private:
  [[nodiscard]] static bool is_first_block(std::uint32_t stage, std::uint32_t chunk) {
    return stage == 0 && chunk == 0;
  }

  [[nodiscard]] bool is_last_block(std::uint32_t stage, std::uint32_t chunk) const {
    return stage + 1 == shape_.stages && chunk + 1 == shape_.chunks;
  }

  Token pass(TaskKind kind, std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
             Token arrived, bool handed_on) {
    const Token done = compute(kind, stage, chunk, micro_batch, arrived);
    return handed_on ? hand_on(kind, stage, chunk, micro_batch, done) : done;
  }

  void once(StageStream stream, TaskKind kind, std::uint32_t stage, Token after) {
    run(stream, kind, stage, 0, 0, after);
  }

  template <class... Tokens>
  Token run(StageStream stream, TaskKind kind, std::uint32_t stage, std::uint32_t chunk,
            std::uint32_t micro_batch, Tokens... after) {
    const std::uint32_t block = chunk * shape_.stages + stage;
    const PriceId price = BlockTable::price(kind, block, shape_.blocks());
    const Label label{static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(chunk),
                      static_cast<std::uint16_t>(stage), micro_batch};
    return reader_.run(stream_of(stream, stage), price, label, after...);
  }

  const PipelineShape shape_;
  Reader& reader_;
};

}  // namespace prequel
