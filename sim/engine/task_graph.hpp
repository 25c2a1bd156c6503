#pragma once

/// Tasks that are stored, for what needs them all: the event queue, traces, critical paths.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/task.hpp"

namespace prequel {

struct Task {
  StreamId stream{};
  PriceId price{};
  Label label{};
};

/// Who must end before whom: the first before the second.
using TaskOrder = std::pair<TaskId, TaskId>;

/// Tasks by id and, in compressed sparse rows, the tasks that wait for each: 20 B a task and 4 B
/// for each thing waited for. The order on a stream is there as waiting too.
class TaskGraph {
 public:
  /// `orders` must come by ascending second task, as a builder makes them. Any graph will do, one
  /// with cycles too: running it stalls.
  TaskGraph(std::vector<Task> tasks, std::span<const TaskOrder> orders);
  ~TaskGraph();
  TaskGraph(TaskGraph&&) noexcept;
  TaskGraph& operator=(TaskGraph&&) noexcept;

  [[nodiscard]] std::span<const Task> tasks() const { return tasks_; }
  /// The tasks that wait for `task`, in ascending order.
  [[nodiscard]] std::span<const TaskId> successors(TaskId task) const;
  /// For each task, how many it waits for.
  [[nodiscard]] std::vector<std::uint32_t> predecessor_counts() const;
  /// Bytes that the graph occupies.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Rows;
  std::vector<Task> tasks_;
  std::unique_ptr<const Rows> rows_;
};

/// The reader that stores what it is told.
class GraphBuilder {
 public:
  struct Token {
    TaskId task = kNothing;
  };

  explicit GraphBuilder(std::size_t streams) : last_(streams) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    const Token task{static_cast<TaskId>(tasks_.size())};
    const Token previous = std::exchange(last_[stream], task);
    tasks_.push_back({stream, price, label});
    add_order(previous, task);
    (add_order(after.task == previous.task ? Token{} : after, task), ...);
    return task;
  }

  [[nodiscard]] Token last(StreamId stream) const { return last_[stream]; }

  void begin_repeating() {}
  std::uint32_t skip(std::uint32_t /*remaining*/, std::span<Token> /*carried*/) { return 0; }

  /// The graph of all tasks told; the builder is empty afterwards.
  [[nodiscard]] TaskGraph build();

 private:
  static constexpr TaskId kNothing = ~TaskId{0};

  void add_order(Token before, Token after) {
    if (before.task != kNothing) orders_.emplace_back(before.task, after.task);
  }

  std::vector<Task> tasks_;
  std::vector<TaskOrder> orders_;
  std::vector<Token> last_;
};

}  // namespace prequel
