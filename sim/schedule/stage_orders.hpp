#pragma once

/// Schedules that are given as an order of passes for each stage, told in an order that works.

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
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

/// The passes of one stage: `before`, then `unit` so many `times`, then `after`. Passes that
/// overlap stand in one of them.
struct StageOrder {
  std::vector<StagePass> before, unit, after;
  std::size_t times = 0;

  [[nodiscard]] std::size_t steady_end() const { return before.size() + times * unit.size(); }
  [[nodiscard]] std::size_t size() const { return steady_end() + after.size(); }
  [[nodiscard]] StagePass operator[](std::size_t i) const {
    if (i < before.size()) return before[i];
    return i < steady_end() ? unit[(i - before.size()) % unit.size()] : after[i - steady_end()];
  }
  /// How many whole units follow after the first `told` passes; none before the first unit.
  [[nodiscard]] std::size_t units_left(std::size_t told) const {
    return told < before.size() || told > steady_end() || unit.empty()
               ? 0
               : (steady_end() - told) / unit.size();
  }
};
using StageOrders = std::vector<StageOrder>;

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
    for (std::uint32_t round = 0; run_round(orders); ++round) {
      // Every other round of the middle does the same, as units are of two turns.
      if (round % 2 == 1) skip_waves(orders);
    }
    for (std::uint32_t stage = 0; stage <= last_; ++stage) {
      assert(stages_[stage].told == orders[stage].size());  // else the orders wait for one another
    }
  }

 private:
  using Token = typename Reader::Token;
  struct MicroBatch {
    std::uint8_t chunk{};
    std::uint32_t number{};
  };
  struct Chunk {
    std::deque<Token> activations;  // arrived and not yet used
    std::deque<Token> gradients;
    std::uint32_t forwards = 0;
    std::uint32_t backwards = 0;
  };
  struct Stage {
    std::size_t told = 0;
    std::array<Chunk, 2> chunks;
    std::queue<MicroBatch> weights;  // whose weight gradients are yet to run
  };
  /// How far stages have been told, and what has arrived: the same again is a wave.
  struct Progress {
    std::vector<std::size_t> told;
    std::vector<std::size_t> arrived;
  };

  /// A turn of each stage that can run. Whether any could.
  bool run_round(const StageOrders& orders) {
    bool advanced = false;
    for (std::uint32_t stage = 0; stage <= last_; ++stage) {
      const StageOrder& order = orders[stage];
      std::size_t& told = stages_[stage].told;
      if (told == order.size()) continue;
      const std::array<StagePass, 2> passes{
          order[told], order[told].overlaps_next ? order[told + 1] : StagePass{}};
      const auto turn = std::span(passes).first(order[told].overlaps_next ? 2 : 1);
      if (!can_run(stage, turn)) continue;
      run_turn(stage, turn);
      told += turn.size();
      advanced = true;
    }
    return advanced;
  }

  /// To be called once every stage may have told one unit more.
  void skip_waves(const StageOrders& orders) {
    Progress now;
    std::size_t left = orders.front().units_left(stages_.front().told);
    for (std::uint32_t stage = 0; stage <= last_; ++stage) {
      now.told.push_back(stages_[stage].told);
      left = std::min(left, orders[stage].units_left(stages_[stage].told));
    }
    carried_.clear();
    each_queue([&](std::deque<Token>& queue) {
      now.arrived.push_back(queue.size());
      carried_.insert(carried_.end(), queue.begin(), queue.end());
    });
    const bool repeats = left > 0 && is_wave(orders, now);
    before_ = std::move(now);
    if (!repeats) return emit_.begin_repeating();

    const std::uint32_t units = emit_.skip(static_cast<std::uint32_t>(left), carried_);
    auto token = carried_.begin();
    each_queue([&](std::deque<Token>& queue) {
      for (Token& each : queue) each = *token++;
    });
    for (std::uint32_t stage = 0; stage <= last_; ++stage) {
      const std::size_t passes = units * orders[stage].unit.size();
      stages_[stage].told += passes;
      before_.told[stage] += passes;
      for (Chunk& chunk : stages_[stage].chunks) {
        chunk.forwards += units;
        chunk.backwards += units;
      }
    }
  }

  /// Whether every stage has told a unit since `before_`, and used what it told.
  [[nodiscard]] bool is_wave(const StageOrders& orders, const Progress& now) const {
    if (before_.arrived != now.arrived) return false;
    for (std::uint32_t stage = 0; stage <= last_; ++stage) {
      const StageOrder& order = orders[stage];
      if (before_.told[stage] < order.before.size()) return false;
      if (now.told[stage] - before_.told[stage] != order.unit.size()) return false;
    }
    return true;
  }

  template <class Body>
  void each_queue(const Body& body) {
    for (Stage& stage : stages_) {
      for (Chunk& chunk : stage.chunks) {
        body(chunk.activations);
        body(chunk.gradients);
      }
    }
  }

  /// Where such passes begin: activations of chunk 0 and gradients of chunk 1 go up.
  [[nodiscard]] std::uint32_t first_stage(StagePass pass) const {
    return (pass.chunk == 0) == (pass.kind == TaskKind::forward) ? 0 : last_;
  }

  std::deque<Token>& inputs(std::uint32_t stage, StagePass pass) {
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
      inputs(first == 0 ? stage + 1 : stage - 1, turn[i]).push_back(sent);
    }
  }

  Token take_input(std::uint32_t stage, StagePass pass) {
    if (stage == first_stage(pass)) return {};
    auto& queue = inputs(stage, pass);
    const Token input = queue.front();
    queue.pop_front();
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
  Progress before_;
  std::vector<Token> carried_;
};

}  // namespace prequel
