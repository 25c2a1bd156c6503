#pragma once

/// Schedules that are given as an order of passes for each stage, told in an order that works.

#include <algorithm>
#include <array>
#include <cassert>
#include <queue>
#include <span>
#include <vector>

#include "sim/schedule/pipeline_emitter.hpp"

namespace prequel {

/// One pass of a stage: a forward, backward, input or weight gradient. Micro batches pass each
/// chunk in turn, so that their numbers need not be said; weight gradients run in the order of
/// the input gradients, whatever their `chunk`.
struct StagePass {
  TaskKind kind{};
  std::uint8_t chunk{};
  bool overlaps_next = false;  ///< starts with the next pass and ends with it
};

/// The passes of each stage, in order.
using StageOrders = std::vector<std::vector<StagePass>>;

/// Tells a bidirectional pipeline: chunk 0 of all stages is a pipeline from stage 0 up, chunk 1 one
/// from the last stage down.
template <class Reader>
class BidirectionalPipeline {
 public:
  BidirectionalPipeline(const PipelineShape& shape, Reader& reader)
      : emit_(shape, reader, shape.micro_batches / 2 - 1, Copies::mirrored),
        last_(shape.stages - 1),
        stages_(shape.stages) {}

  /// One turn a stage, again and again, so that tasks come about as they will run.
  void run(const StageOrders& orders) {
    for (bool more = true; more;) {
      more = false;
      bool advanced = false;
      for (std::uint32_t stage = 0; stage <= last_; ++stage) {
        const std::span rest = std::span(orders[stage]).subspan(stages_[stage].told);
        if (rest.empty()) continue;
        more = true;
        const auto turn = rest.first(rest.front().overlaps_next ? 2 : 1);
        if (!can_run(stage, turn)) continue;
        run_turn(stage, turn);
        stages_[stage].told += turn.size();
        advanced = true;
      }
      assert(advanced || !more);  // else the orders wait for one another
      if (!advanced) return;
    }
  }

 private:
  using Token = typename Reader::Token;
  struct MicroBatch {
    std::uint8_t chunk{};
    std::uint32_t number{};
  };
  struct Chunk {
    std::queue<Token> activations;  // arrived and not yet used
    std::queue<Token> gradients;
    std::uint32_t forwards = 0;
    std::uint32_t backwards = 0;
  };
  struct Stage {
    std::size_t told = 0;
    std::array<Chunk, 2> chunks;
    std::queue<MicroBatch> weights;  // whose weight gradients are yet to run
  };

  /// Where such passes begin: activations of chunk 0 and gradients of chunk 1 go up.
  [[nodiscard]] std::uint32_t first_stage(StagePass pass) const {
    return (pass.chunk == 0) == (pass.kind == TaskKind::forward) ? 0 : last_;
  }

  std::queue<Token>& inputs(std::uint32_t stage, StagePass pass) {
    Chunk& chunk = stages_[stage].chunks[pass.chunk];
    return pass.kind == TaskKind::forward ? chunk.activations : chunk.gradients;
  }

  bool can_run(std::uint32_t stage, std::span<const StagePass> turn) {
    return std::ranges::all_of(turn, [&](StagePass pass) {
      const bool needs_input = pass.kind != TaskKind::weight_gradient && stage != first_stage(pass);
      return !needs_input || !inputs(stage, pass).empty();
    });
  }

  void run_turn(std::uint32_t stage, std::span<const StagePass> turn) {
    if (turn[0].kind == TaskKind::weight_gradient) {
      auto& weights = stages_[stage].weights;
      emit_.weight_gradient(stage, weights.front().chunk, weights.front().number);
      weights.pop();
      return;
    }
    const Token input = take_input(stage, turn.front());
    const Token other_input = turn.size() == 2 ? take_input(stage, turn.back()) : Token{};

    std::array<MicroBatch, 2> batches;
    Token done{};
    for (std::size_t i = 0; i < turn.size(); ++i) {
      const auto [chunk, number] = batches[i] = next_micro_batch(stage, turn[i]);
      done = i == 0 ? emit_.compute(turn[i].kind, stage, chunk, number, input, other_input)
                    : emit_.compute(turn[i].kind, stage, chunk, number);
    }
    for (std::size_t i = 0; i < turn.size(); ++i) {
      const std::uint32_t first = first_stage(turn[i]);
      if (stage == last_ - first) continue;
      const Token sent =
          emit_.hand_on(turn[i].kind, stage, batches[i].chunk, batches[i].number, done);
      inputs(first == 0 ? stage + 1 : stage - 1, turn[i]).push(sent);
    }
  }

  Token take_input(std::uint32_t stage, StagePass pass) {
    if (stage == first_stage(pass)) return {};
    auto& queue = inputs(stage, pass);
    const Token input = queue.front();
    queue.pop();
    return input;
  }

  MicroBatch next_micro_batch(std::uint32_t stage, StagePass pass) {
    Chunk& chunk = stages_[stage].chunks[pass.chunk];
    if (pass.kind == TaskKind::forward) return {pass.chunk, chunk.forwards++};
    const MicroBatch batch{pass.chunk, chunk.backwards++};
    if (pass.kind == TaskKind::input_gradient) stages_[stage].weights.push(batch);
    return batch;
  }

  PipelineEmitter<Reader> emit_;
  std::uint32_t last_;
  std::vector<Stage> stages_;
};

}  // namespace prequel
