#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace prequel {
namespace {

struct Event {
  double time;
  TaskId task;

  bool operator<(const Event& other) const {
    return time != other.time ? time < other.time : task < other.task;
  }
};

/// The tasks that run, the first to end on top. A task that ends mostly lets one other begin, which
/// takes its place: half the work of a standard queue, from which one is taken before one is added.
class Running {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), ends_later);
  }
  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), ends_later);
    heap_.pop_back();
  }
  /// As `pop`, then `push`.
  void replace_top(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t place = 0;
    for (std::size_t child = 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < event)) break;
      heap_[place] = heap_[child];
      place = child;
    }
    heap_[place] = event;
  }

 private:
  static bool ends_later(const Event& a, const Event& b) { return b < a; }

  std::vector<Event> heap_;
};

}  // namespace

double EventTimes::end() const {
  return finish.empty() ? 0 : *std::max_element(finish.begin(), finish.end());
}

EventTimes run_events(const TaskGraph& graph, std::span<const double> durations) {
  const auto tasks = graph.tasks();
  auto waiting = graph.predecessor_counts();
  EventTimes times;
  times.finish.assign(tasks.size(), std::numeric_limits<double>::infinity());

  Running running;
  for (TaskId task = 0; task < tasks.size(); ++task) {
    if (waiting[task] == 0) running.push({durations[tasks[task].price], task});
  }
  while (!running.empty()) {
    const Event ended = running.top();
    times.finish[ended.task] = ended.time;
    bool is_replaced = false;
    for (const TaskId next : graph.successors(ended.task)) {
      if (--waiting[next] > 0) continue;
      const Event begun{ended.time + durations[tasks[next].price], next};
      if (is_replaced) {
        running.push(begun);
      } else {
        running.replace_top(begun);
        is_replaced = true;
      }
    }
    if (!is_replaced) running.pop();
  }

  for (TaskId task = 0; task < tasks.size(); ++task) {
    if (waiting[task] > 0) times.stuck.push_back(task);
  }
  return times;
}

}  // namespace prequel
