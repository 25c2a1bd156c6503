#pragma once

/// The reader that remembers when each task runs and what held it up.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/engine/task.hpp"
#include "sim/engine/task_graph.hpp"

namespace prequel {

struct PlayedTask {
  static constexpr TaskId kNothing = std::numeric_limits<TaskId>::max();

  double start{};  ///< s
  double end{};    ///< s
  Label label{};
  StreamId stream{};
  PriceId price{};
  TaskId held_up_by = kNothing;  ///< what ended last before it; on a tie, on its own stream
};

/// Times are those of a Clock with the same durations, to the last bit.
class Recorder {
 public:
  struct Token {
    TaskId task = PlayedTask::kNothing;
  };

  /// `durations` in s, indexed by PriceId, must outlive the recorder.
  Recorder(std::span<const double> durations, std::size_t streams)
      : durations_(durations), last_(streams) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    const Token token{static_cast<TaskId>(tasks_.size())};
    PlayedTask task{0, 0, label, stream, price, PlayedTask::kNothing};
    wait(task, last_[stream]);
    (wait(task, after), ...);
    (add_order(after, token, stream), ...);
    task.end = task.start + durations_[price];
    tasks_.push_back(task);
    return last_[stream] = token;
  }

  [[nodiscard]] Token last(StreamId stream) const { return last_[stream]; }

  void begin_repeating() {}
  std::uint32_t skip(std::uint32_t /*remaining*/, std::span<Token> /*carried*/) { return 0; }

  /// By TaskId; those of one stream in the order in which they run.
  [[nodiscard]] const std::vector<PlayedTask>& tasks() const { return tasks_; }
  /// Who waits for whom across streams.
  [[nodiscard]] const std::vector<TaskOrder>& orders() const { return orders_; }

 private:
  void wait(PlayedTask& task, Token before) const {
    if (before.task == PlayedTask::kNothing) return;
    const double end = tasks_[before.task].end;
    if (task.held_up_by != PlayedTask::kNothing && end <= task.start) return;
    task.start = end;
    task.held_up_by = before.task;
  }

  void add_order(Token before, Token after, StreamId stream) {
    if (before.task == PlayedTask::kNothing || tasks_[before.task].stream == stream) return;
    orders_.emplace_back(before.task, after.task);
  }

  std::span<const double> durations_;
  std::vector<PlayedTask> tasks_;
  std::vector<TaskOrder> orders_;
  std::vector<Token> last_;
};

}  // namespace prequel
