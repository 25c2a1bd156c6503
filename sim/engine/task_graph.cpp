#include "sim/engine/task_graph.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>

namespace prequel {

struct TaskGraph::Rows {
  boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                     boost::no_property, TaskId, std::uint32_t>
      graph;
};

namespace {

/// By the first task, and where that is the same, in the order given: a counting sort.
std::vector<TaskOrder> by_first(std::size_t tasks, std::span<const TaskOrder> orders) {
  std::vector<std::uint32_t> place(tasks + 1);
  for (const auto& order : orders) ++place[order.first + 1];
  for (std::size_t task = 1; task <= tasks; ++task) place[task] += place[task - 1];
  std::vector<TaskOrder> sorted(orders.size());
  for (const auto& order : orders) sorted[place[order.first]++] = order;
  return sorted;
}

}  // namespace

TaskGraph::TaskGraph(std::vector<Task> tasks, std::span<const TaskOrder> orders)
    : tasks_(std::move(tasks)) {
  const auto sorted = by_first(tasks_.size(), orders);
  const auto count = static_cast<TaskId>(tasks_.size());
  rows_ = std::make_unique<const Rows>(Rows{{boost::edges_are_sorted, sorted.begin(), sorted.end(),
                                             count, static_cast<std::uint32_t>(sorted.size())}});
}

TaskGraph::~TaskGraph() = default;
TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;

std::span<const TaskId> TaskGraph::successors(TaskId task) const {
  const auto [first, last] = boost::adjacent_vertices(task, rows_->graph);
  return {std::to_address(first), static_cast<std::size_t>(last - first)};
}

std::vector<std::uint32_t> TaskGraph::predecessor_counts() const {
  std::vector<std::uint32_t> counts(tasks_.size());
  for (TaskId task = 0; task < tasks_.size(); ++task) {
    for (const TaskId after : successors(task)) ++counts[after];
  }
  return counts;
}

std::size_t TaskGraph::memory_bytes() const {
  return tasks_.capacity() * sizeof(Task) + (tasks_.size() + 1) * sizeof(std::uint32_t) +
         boost::num_edges(rows_->graph) * sizeof(TaskId);
}

TaskGraph GraphBuilder::build() {
  tasks_.shrink_to_fit();
  TaskGraph graph(std::move(tasks_), orders_);
  tasks_.clear();
  orders_.clear();
  last_.assign(last_.size(), Token{});
  return graph;
}

}  // namespace prequel
