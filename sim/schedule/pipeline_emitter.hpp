#pragma once

/// The tasks of a pipeline, told to a reader with stream, price and label filled in. Schedules are
/// written in terms of these.

#include <array>
#include <cassert>
#include <span>
#include <vector>

#include "sim/schedule/pipeline.hpp"

namespace prequel {

/// How stages hold copies of blocks. Gradients of copies are reduced together.
enum class Copies : std::uint8_t {
  none,
  mirrored,  ///< chunk 0 of stage s and chunk 1 of stage p − 1 − s are one block
};

/// A pass of one micro batch through one block, to be run once its input has `arrived`.
template <class Token>
struct Work {
  std::uint32_t stage{}, chunk{}, micro_batch{};
  Token arrived{};
};

/// Which passes an emitter tells. Most waves of most pipelines are of whole ones, and a loop that
/// tells nothing else keeps what it hands on in registers.
enum class Passes : std::uint8_t {
  any,
  whole,  ///< those alone that are one task each (PipelineEmitter::is_whole)
};

/// Code on the path of every task is inlined by force: next to nine schedules the compiler stops
/// short of it, which costs a search a third of its clock.
template <Reader R, Passes passes = Passes::any>
class PipelineEmitter {
 public:
  using Token = typename R::Token;

  PipelineEmitter(const PipelineShape& shape, R& reader)
      : PipelineEmitter(shape, reader, shape.micro_batches - 1) {}
  /// For schedules whose last backward of a block is not that of the last micro batch.
  PipelineEmitter(const PipelineShape& shape, R& reader, std::uint32_t last_backward,
                  Copies copies = Copies::none)
      : shape_(shape), reader_(reader), last_backward_(last_backward), copies_(copies) {
    if (copies == Copies::mirrored) buckets_done_.resize(shape.blocks());
  }

  /// Tests whether a forward and a backward that a stage runs in turn run side by side.
  [[nodiscard]] bool exchanges_beside() const {
    return passes == Passes::any && shape_.exchanges == Exchanges::beside;
  }

  /// Tests whether each pass of a kind of a micro batch is one task.
  [[nodiscard]] bool is_whole(TaskKind kind, std::uint32_t micro_batch) const {
    return !exchanges_beside() && !copies() && !is_in_buckets(kind, micro_batch);
  }

  /// Tests whether copies of activations run beside passes.
  [[nodiscard]] bool copies() const { return passes == Passes::any && shape_.copies; }

  void begin_repeating() { reader_.begin_repeating(); }

  /// As the reader's, but tells the last wave, unless the buckets go after it.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried,
                     bool buckets_go_later = false) {
    const std::uint32_t told = shape_.buckets > 0 && !buckets_go_later ? 1 : 0;
    return remaining > told ? reader_.skip(remaining - told, carried) : 0;
  }

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

  Token forward(const Work<Token>& work) {
    return forward(work.stage, work.chunk, work.micro_batch, work.arrived);
  }
  Token backward(const Work<Token>& work) {
    return backward(work.stage, work.chunk, work.micro_batch, work.arrived);
  }

  /// The results of a forward and a backward side by side, for those that wait for them.
  struct Results {
    Token activation{}, gradient{};
  };

  /// A forward and then a backward of another micro batch of one stage, of which each exchanges
  /// while the other computes.
  Results side_by_side(const Work<Token>& forward, const Work<Token>& backward) {
    auto [activation, gradient] = compute_beside(forward, backward);
    if (!is_last_block(forward.stage, forward.chunk)) {
      activation =
          hand_on(TaskKind::forward, forward.stage, forward.chunk, forward.micro_batch, activation);
    }
    if (!is_first_block(backward.stage, backward.chunk)) {
      gradient = hand_on(TaskKind::backward, backward.stage, backward.chunk, backward.micro_batch,
                         gradient);
    }
    return {activation, gradient};
  }

  /// A forward and a backward that start together and end together: their results, both after both
  /// tokens, are yet to be handed on.
  std::array<Token, 2> overlapped(const Work<Token>& forward, const Work<Token>& backward) {
    if (exchanges_beside()) {
      const auto [exchanged, computed] =
          compute_beside(forward, backward, forward.arrived, backward.arrived);
      return {exchanged, computed};
    }
    compute(TaskKind::forward, forward.stage, forward.chunk, forward.micro_batch, forward.arrived,
            backward.arrived);
    return {Token{},
            compute(TaskKind::backward, backward.stage, backward.chunk, backward.micro_batch)};
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
  [[gnu::always_inline]] Token compute(TaskKind kind, std::uint32_t stage, std::uint32_t chunk,
                                       std::uint32_t micro_batch, Tokens... after) {
    if (exchanges_beside()) {
      return compute_copied(kind, stage, chunk, micro_batch, last_exchange(stage), after...);
    }
    return compute_copied(kind, stage, chunk, micro_batch, after...);
  }

  /// Sends what a pass of `kind` has `computed`. Returns what the receiver waits for.
  template <class... Tokens>
  Token hand_on(TaskKind kind, std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch,
                Tokens... computed) {
    const bool is_forward = kind == TaskKind::forward;
    StageStream stream = StageStream::compute;
    if (shape_.sends == Sends::overlapped) {
      stream = is_forward ? StageStream::send_forward : StageStream::send_backward;
    }
    const TaskKind send = is_forward ? TaskKind::send_forward : TaskKind::send_backward;
    if (copies() && !is_forward) {  // what has not come back yet has no gradient
      return run(stream, send, stage, chunk, micro_batch, computed...,
                 reader_.last(stream_of(StageStream::reload, stage)));
    }
    return run(stream, send, stage, chunk, micro_batch, computed...);
  }

  /// Tells each stage's tasks after its last backward, the same for every schedule.
  void step_end() {
    const std::uint32_t last = shape_.stages - 1;
    const bool reduced = shape_.buckets > 0 || in_every_micro_batch(shape_.gathers);
    for (std::uint32_t stage = 0; !reduced && stage <= last; ++stage) {
      const Token done = reader_.last(stream_of(StageStream::compute, stage));
      const Token copy_done = copies_ == Copies::none
                                  ? Token{}
                                  : reader_.last(stream_of(StageStream::compute, last - stage));
      once(StageStream::communication, TaskKind::gradient_reduce, stage, done, copy_done);
    }
    if (last > 0) {
      // One collective on both stages: it starts when both are there.
      const Token first_ready = reader_.last(stream_of(StageStream::communication, 0));
      const Token last_ready = reader_.last(stream_of(StageStream::communication, last));
      once(StageStream::communication, TaskKind::embedding_reduce, 0, last_ready);
      once(StageStream::communication, TaskKind::embedding_reduce, last, first_ready);
    }
    for (std::uint32_t stage = 0; stage <= last; ++stage) {
      if (shape_.gathers_at_end) {
        once(StageStream::communication, TaskKind::gather_updates, stage);
      }
      const Token last_reduced = reader_.last(stream_of(StageStream::communication, stage));
      const Token reloaded =
          copies() ? reader_.last(stream_of(StageStream::reload, stage)) : Token{};
      once(StageStream::compute, TaskKind::optimizer, stage, last_reduced, reloaded);
    }
  }

 private:
  /// Both start after `both`, too. Passes in buckets do not overlap.
  template <class... Tokens>
  Results compute_beside(const Work<Token>& forward, const Work<Token>& backward, Tokens... both) {
    const std::uint32_t stage = forward.stage;
    if (is_in_buckets(TaskKind::forward, forward.micro_batch) ||
        is_in_buckets(TaskKind::backward, backward.micro_batch)) {
      const Token done = compute(TaskKind::forward, stage, forward.chunk, forward.micro_batch,
                                 forward.arrived, both...);
      return {done, compute(TaskKind::backward, stage, backward.chunk, backward.micro_batch,
                            backward.arrived)};
    }
    const auto run_forward = [&](StageStream stream, TaskKind kind, auto... after) {
      return run(stream, kind, stage, forward.chunk, forward.micro_batch, after...);
    };
    const auto run_backward = [&](StageStream stream, TaskKind kind, auto... after) {
      return run(stream, kind, stage, backward.chunk, backward.micro_batch, after...);
    };
    using enum StageStream;
    const Token begun = reader_.last(stream_of(StageStream::compute, stage));
    const Token before = last_exchange(stage);
    const auto [offloaded, reloaded] = copies_before(stage);
    if (copies()) {
      run_forward(offload, TaskKind::offload_activations, forward.arrived, begun, before, reloaded,
                  both...);
      run_backward(reload, TaskKind::reload_activations, backward.arrived, begun, before, offloaded,
                   both...);
    }
    const Token arrived = run_backward(exchange_backward, TaskKind::backward_exchange,
                                       backward.arrived, begun, offloaded, reloaded, both...);
    const Token computed = run_forward(StageStream::compute, TaskKind::forward_beside,
                                       forward.arrived, before, offloaded, reloaded, both...);
    const Token gradient = run_backward(StageStream::compute, TaskKind::backward_beside, arrived);
    return {run_forward(exchange_forward, TaskKind::forward_exchange, computed), gradient};
  }

  /// Tests whether a pass comes in buckets.
  [[nodiscard]] bool is_in_buckets(TaskKind kind, std::uint32_t micro_batch) const {
    if (passes == Passes::whole || shape_.buckets == 0) return false;
    if (in_every_micro_batch(shape_.gathers)) return true;
    if (kind == TaskKind::forward) return shape_.gathers != Gathers::never && micro_batch == 0;
    return kind != TaskKind::input_gradient &&
           (shape_.reduces_each || micro_batch == last_backward_);
  }

  template <class... Tokens>
  [[gnu::always_inline]] Token compute_at_once(TaskKind kind, std::uint32_t stage,
                                               std::uint32_t chunk, std::uint32_t micro_batch,
                                               Tokens... after) {
    if (!is_in_buckets(kind, micro_batch)) {
      return run(StageStream::compute, kind, stage, chunk, micro_batch, after...);
    }
    const bool is_forward = kind == TaskKind::forward;
    if (in_every_micro_batch(shape_.gathers)) {
      return compute_gathered(is_forward, stage, chunk, micro_batch, after...);
    }
    if (is_forward) return gather_and_forward(stage, chunk, after...);
    const TaskKind part =
        kind == TaskKind::backward ? TaskKind::backward_bucket : TaskKind::weight_gradient_bucket;
    return compute_and_reduce(part, stage, chunk, micro_batch, after...);
  }

  /// A pass with the copies beside it, which begin when it does.
  template <class... Tokens>
  [[gnu::always_inline]] Token compute_copied(TaskKind kind, std::uint32_t stage,
                                              std::uint32_t chunk, std::uint32_t micro_batch,
                                              Tokens... after) {
    if (!copies()) return compute_at_once(kind, stage, chunk, micro_batch, after...);
    const auto [offloaded, reloaded] = copies_before(stage);
    const Token begun = reader_.last(stream_of(StageStream::compute, stage));
    if (kind == TaskKind::forward) {
      run(StageStream::offload, TaskKind::offload_activations, stage, chunk, micro_batch, begun,
          reloaded, after...);
    } else if (kind != TaskKind::weight_gradient) {
      run(StageStream::reload, TaskKind::reload_activations, stage, chunk, micro_batch, begun,
          offloaded, after...);
    }
    return compute_at_once(kind, stage, chunk, micro_batch, offloaded, reloaded, after...);
  }

  /// The copies of the passes before, which each pass waits for where copies run beside passes.
  struct Copied {
    Token offloaded{}, reloaded{};
  };
  [[nodiscard]] Copied copies_before(std::uint32_t stage) const {
    if (!copies()) return {};
    return {reader_.last(stream_of(StageStream::offload, stage)),
            reader_.last(stream_of(StageStream::reload, stage))};
  }

  /// Returns the exchange that a pass after two side by side waits for: links serve one at a time.
  [[nodiscard]] Token last_exchange(std::uint32_t stage) const {
    return reader_.last(stream_of(StageStream::exchange_forward, stage));
  }

  /// Returns the reduction that a part waits for where no pass goes on beside reductions.
  [[nodiscard]] Token reduction_before(std::uint32_t stage) const {
    if (shape_.reduces_beside) return {};
    return reader_.last(stream_of(StageStream::communication, stage));
  }

  template <class... Tokens>
  Token gather_and_forward(std::uint32_t stage, std::uint32_t chunk, Tokens... after) {
    Token done{};
    for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
      const Token before = shape_.prefetch == 0 ? done : Token{};
      const Token gathered =
          run(StageStream::communication, TaskKind::parameter_gather, stage, chunk, 0, before);
      done =
          run(StageStream::compute, TaskKind::forward_bucket, stage, chunk, 0, gathered, after...);
    }
    return done;
  }

  /// A pass whose parts are gathered in every micro batch, as far ahead as `prefetch` says: a
  /// gather begins as soon as the part so many places before it computes, the first ones as soon as
  /// the pass could.
  template <class... Tokens>
  Token compute_gathered(bool is_forward, std::uint32_t stage, std::uint32_t chunk,
                         std::uint32_t micro_batch, Tokens... after) {
    const bool gathers = is_forward || shape_.gathers == Gathers::each_pass;
    const TaskKind gather = is_forward ? TaskKind::parameter_gather : TaskKind::backward_gather;
    const TaskKind part = is_forward ? TaskKind::forward_bucket : TaskKind::backward_bucket;
    const Token before = reader_.last(stream_of(StageStream::compute, stage));
    Token reduced = reduction_before(stage);
    std::vector<Token> gathered(shape_.buckets), done(shape_.buckets);
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < shape_.buckets; ++i) {
      for (; gathers && next < shape_.buckets && next <= i + shape_.prefetch; ++next) {
        const Token begun = next > shape_.prefetch ? done[next - shape_.prefetch - 1] : before;
        gathered[next] = run(StageStream::communication, gather, stage, chunk, micro_batch, begun);
      }
      done[i] = run(StageStream::compute, part, stage, chunk, micro_batch, gathered[i], reduced,
                    after...);
      if (is_forward) continue;
      run(StageStream::communication, TaskKind::gradient_reduce, stage, chunk, micro_batch,
          done[i]);
      reduced = reduction_before(stage);
    }
    return done.back();
  }

  template <class... Tokens>
  Token compute_and_reduce(TaskKind part, std::uint32_t stage, std::uint32_t chunk,
                           std::uint32_t micro_batch, Tokens... after) {
    Token done{};
    for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
      done = run(StageStream::compute, part, stage, chunk, micro_batch, reduction_before(stage),
                 after...);
      if (copies_ == Copies::none) {
        run(StageStream::communication, TaskKind::gradient_reduce, stage, chunk, micro_batch, done);
      } else {
        buckets_done_[chunk * shape_.stages + stage].push_back(done);
      }
    }
    if (copies_ == Copies::mirrored) reduce_with_copy(stage, chunk, micro_batch);
    return done;
  }

  /// One collective a bucket, on the stages of both copies, once the second has been told.
  void reduce_with_copy(std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch) {
    const std::uint32_t copy_stage = shape_.stages - 1 - stage;
    const std::uint32_t copy_chunk = 1 - chunk;
    const std::vector<Token>& done = buckets_done_[chunk * shape_.stages + stage];
    const std::vector<Token>& copy_done = buckets_done_[copy_chunk * shape_.stages + copy_stage];
    for (std::size_t bucket = 0; bucket < copy_done.size(); ++bucket) {
      run(StageStream::communication, TaskKind::gradient_reduce, stage, chunk, micro_batch,
          done[bucket], copy_done[bucket]);
      run(StageStream::communication, TaskKind::gradient_reduce, copy_stage, copy_chunk,
          micro_batch, copy_done[bucket], done[bucket]);
    }
  }

  [[nodiscard]] static bool is_first_block(std::uint32_t stage, std::uint32_t chunk) {
    return stage == 0 && chunk == 0;
  }

  [[nodiscard]] bool is_last_block(std::uint32_t stage, std::uint32_t chunk) const {
    return stage + 1 == shape_.stages && chunk + 1 == shape_.chunks;
  }

  [[gnu::always_inline]] Token pass(TaskKind kind, std::uint32_t stage, std::uint32_t chunk,
                                    std::uint32_t micro_batch, Token arrived, bool handed_on) {
    const Token done = compute(kind, stage, chunk, micro_batch, arrived);
    return handed_on ? hand_on(kind, stage, chunk, micro_batch, done) : done;
  }

  template <class... Tokens>
  void once(StageStream stream, TaskKind kind, std::uint32_t stage, Tokens... after) {
    run(stream, kind, stage, 0, 0, after...);
  }

  template <class... Tokens>
  [[gnu::always_inline]] Token run(StageStream stream, TaskKind kind, std::uint32_t stage,
                                   std::uint32_t chunk, std::uint32_t micro_batch,
                                   Tokens... after) {
    const std::uint32_t block = chunk * shape_.stages + stage;
    const PriceId price = BlockTable::price(kind, block, shape_.blocks());
    assert(chunk < kPlayedChunks && stage < kPlayedStages);
    const Label label{static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(chunk),
                      static_cast<std::uint16_t>(stage), micro_batch};
    return reader_.run(stream_of(stream, stage), price, label, after...);
  }

  const PipelineShape shape_;
  R& reader_;
  const std::uint32_t last_backward_;
  const Copies copies_;
  std::vector<std::vector<Token>> buckets_done_;  // by block, where there are copies
};

}  // namespace prequel
