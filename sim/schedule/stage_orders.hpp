#pragma once

/// Schedules that are given as an order of passes for each stage, told in an order that works.

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <span>
#include <tuple>
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

/// Where the two chunks of each stage lead. Activations of chunk 0 go up, from stage 0 to the last,
/// those of chunk 1 down.
enum class TwoWays : std::uint8_t {
  apart,   ///< half of the micro batches enter at either end; both ways hold the whole model
  folded,  ///< all pass chunk 0 and, from the last stage back, chunk 1: a V
};

/// Tells a pipeline of two chunks a stage whose order of passes is given.
template <Reader R>
class TwoWayPipeline {
 public:
  TwoWayPipeline(const PipelineShape& shape, TwoWays ways, R& reader)
      : emit_(shape, reader,
              ways == TwoWays::apart ? shape.micro_batches / 2 - 1 : shape.micro_batches - 1,
              ways == TwoWays::apart ? Copies::mirrored : Copies::none),
        ways_(ways),
        last_(shape.stages - 1),
        stages_(shape.stages) {}

  /// One turn a stage, again and again, so that tasks come about as they will run.
  void run(const StageOrders& orders) {
    const auto turns = static_cast<std::uint32_t>(std::ranges::count(
        orders.front().unit, false, &StagePass::overlaps_next));  // after which the middle repeats
    for (std::uint32_t round = 1; run_round(orders); ++round) {
      if (turns > 0 && round % turns == 0) skip_waves(orders);
    }
    for (std::uint32_t stage = 0; stage <= last_; ++stage) {
      assert(stages_[stage].told == orders[stage].size());  // else the orders wait for one another
    }
  }

 private:
  using Token = typename R::Token;
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
    std::deque<MicroBatch> weights;  // whose weight gradients are yet to run
  };
  /// How far stages have been told, and what has arrived: the same again is a wave.
  struct Progress {
    std::vector<std::size_t> told;
    std::vector<std::size_t> arrived;
  };

  /// Runs a turn of each stage that can run. Returns whether any could.
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
      for (MicroBatch& batch : stages_[stage].weights) batch.number += units;
    }
  }

  /// Tests whether every stage has told a unit since `before_`, and used what it told.
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

  /// Activations of chunk 0 and gradients of chunk 1 do.
  [[nodiscard]] static bool goes_up(StagePass pass) {
    return (pass.chunk == 0) == (pass.kind == TaskKind::forward);
  }
  /// Tests whether such a pass needs no input from another block.
  [[nodiscard]] bool begins(std::uint32_t stage, StagePass pass) const {
    return goes_up(pass) ? stage == 0 : stage == last_ && ways_ == TwoWays::apart;
  }

  std::deque<Token>& inputs(std::uint32_t stage, StagePass pass) {
    Chunk& chunk = stages_[stage].chunks[pass.chunk];
    return pass.kind == TaskKind::forward ? chunk.activations : chunk.gradients;
  }

  bool can_run(std::uint32_t stage, std::span<const StagePass> turn) {
    return std::ranges::all_of(turn, [&](StagePass pass) {
      const bool needs_input = pass.kind != TaskKind::weight_gradient && !begins(stage, pass);
      return !needs_input || !inputs(stage, pass).empty();
    });
  }

  void run_turn(std::uint32_t stage, std::span<const StagePass> turn) {
    if (turn[0].kind == TaskKind::weight_gradient) {
      auto& weights = stages_[stage].weights;
      emit_.weight_gradient(stage, weights.front().chunk, weights.front().number);
      weights.pop_front();
      return;
    }
    const Token input = take_input(stage, turn.front());
    const Token other_input = turn.size() == 2 ? take_input(stage, turn.back()) : Token{};

    const MicroBatch batch = next_micro_batch(stage, turn.front());
    if (turn.size() == 1) {
      const Token done = emit_.compute(turn[0].kind, stage, batch.chunk, batch.number, input);
      return hand_on(stage, turn[0], batch.number, done);
    }
    const MicroBatch other = next_micro_batch(stage, turn.back());
    const auto [exchanged, computed] = emit_.overlapped(
        {stage, batch.chunk, batch.number, input}, {stage, other.chunk, other.number, other_input});
    hand_on(stage, turn.front(), batch.number, exchanged, computed);
    hand_on(stage, turn.back(), other.number, exchanged, computed);
  }

  /// To the next stage of its way or, where the way is folded, to the other chunk of the last,
  /// whose passes follow on the same stream.
  template <class... Tokens>
  void hand_on(std::uint32_t stage, StagePass pass, std::uint32_t number, Tokens... done) {
    const bool up = goes_up(pass);
    if (stage != (up ? last_ : 0)) {
      const Token sent = emit_.hand_on(pass.kind, stage, pass.chunk, number, done...);
      inputs(up ? stage + 1 : stage - 1, pass).push_back(sent);
    } else if (up && ways_ == TwoWays::folded) {
      pass.chunk = static_cast<std::uint8_t>(1 - pass.chunk);
      inputs(stage, pass).push_back(std::get<sizeof...(done) - 1>(std::tuple{done...}));
    }
  }

  Token take_input(std::uint32_t stage, StagePass pass) {
    if (begins(stage, pass)) return {};
    auto& queue = inputs(stage, pass);
    const Token input = queue.front();
    queue.pop_front();
    return input;
  }

  MicroBatch next_micro_batch(std::uint32_t stage, StagePass pass) {
    Chunk& chunk = stages_[stage].chunks[pass.chunk];
    if (pass.kind == TaskKind::forward) return {pass.chunk, chunk.forwards++};
    const MicroBatch batch{pass.chunk, chunk.backwards++};
    if (pass.kind == TaskKind::input_gradient) stages_[stage].weights.push_back(batch);
    return batch;
  }

  PipelineEmitter<R> emit_;
  TwoWays ways_;
  std::uint32_t last_;
  std::vector<Stage> stages_;
  Progress before_;
  std::vector<Token> carried_;
};

}  // namespace prequel
