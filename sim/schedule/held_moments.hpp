#pragma once

/// The reader that follows how many micro batches each chunk of each stage holds between forward
/// and backward, and remembers the moments at which a stage may hold the most bytes, whatever each
/// chunk weighs: those at which no other moment of the same chunk's passes holds as much of every
/// chunk.

#include <cstdint>
#include <span>
#include <vector>

#include "models/memory/memory.hpp"
#include "sim/engine/task.hpp"
#include "sim/schedule/pipeline.hpp"

namespace prequel {

class HeldMoments {
 public:
  struct Token {};

  explicit HeldMoments(const PipelineShape& shape)
      : stages_(shape.stages, Stage(std::vector<std::int64_t>(shape.chunks))) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId /*price*/, Label label, Tokens... /*after*/) {
    const auto kind = static_cast<TaskKind>(label.kind);
    if (stream % kStageStreams != static_cast<std::uint32_t>(StageStream::compute)) return {};
    const TaskTraits& task = traits(kind);
    if (!task.is_pass()) return {};
    Stage& stage = stages_[stream / kStageStreams];
    const Keeps change = traits(task.part_of).activations;
    if (change == Keeps::takes) ++stage.held[label.chunk];
    const ChunkMoment moment{label.chunk, stage.held};
    stage.wave.push_back(moment);
    remember(stage, moment);
    if (change == Keeps::frees) --stage.held[label.chunk];
    return {};
  }

  [[nodiscard]] Token last(StreamId /*stream*/) const { return {}; }

  void begin_repeating() {
    for (Stage& stage : stages_) stage.before.clear();
  }

  /// Waves of the same tasks all add the same to what each stage holds, so that the last of them
  /// reaches highest, or this one.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> /*carried*/) {
    std::uint32_t skipped = 0;
    for (Stage& stage : stages_) {
      if (!stage.before.empty()) {
        skipped = remaining;
        std::vector<std::int64_t> rise(stage.held.size());
        bool rises = false;
        for (std::size_t chunk = 0; chunk < rise.size(); ++chunk) {
          rise[chunk] = remaining * (stage.held[chunk] - stage.before[chunk]);
          stage.held[chunk] += rise[chunk];
          rises = rises || rise[chunk] > 0;
        }
        if (rises) remember_raised(stage, rise);
      }
      stage.before = stage.held;
      stage.wave.clear();
    }
    return skipped;
  }

  /// Returns the most that each stage has in flight.
  [[nodiscard]] std::vector<InFlight> in_flight() && {
    std::vector<InFlight> all;
    for (Stage& stage : stages_) {
      InFlight one;
      for (const ChunkMoment& moment : stage.moments) {
        std::int64_t pairs = 0;
        for (const std::int64_t held : moment.held) pairs += held;
        one.most = std::max(one.most, pairs);
      }
      one.moments = std::move(stage.moments);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  struct Stage {
    explicit Stage(std::vector<std::int64_t> none) : held(std::move(none)) {}

    std::vector<std::int64_t> held;    // of each chunk
    std::vector<std::int64_t> before;  // when this wave began, where it is one of many
    std::vector<ChunkMoment> wave;     // moments since
    std::vector<ChunkMoment> moments;
  };

  static bool holds_as_much(const ChunkMoment& one, const ChunkMoment& other) {
    if (one.computing != other.computing) return false;
    for (std::size_t chunk = 0; chunk < one.held.size(); ++chunk) {
      if (one.held[chunk] < other.held[chunk]) return false;
    }
    return true;
  }

  static void remember(Stage& stage, const ChunkMoment& moment) {
    for (const ChunkMoment& known : stage.moments) {
      if (holds_as_much(known, moment)) return;
    }
    std::erase_if(stage.moments,
                  [&](const ChunkMoment& known) { return holds_as_much(moment, known); });
    stage.moments.push_back(moment);
  }

  static void remember_raised(Stage& stage, const std::vector<std::int64_t>& rise) {
    for (ChunkMoment moment : stage.wave) {
      for (std::size_t chunk = 0; chunk < rise.size(); ++chunk) moment.held[chunk] += rise[chunk];
      remember(stage, moment);
    }
  }

  std::vector<Stage> stages_;
};

}  // namespace prequel
