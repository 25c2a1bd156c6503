#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace prequel {
namespace {

struct Event {
  double time;
  TaskId task;

  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : task > other.task;
  }
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

  std::priority_queue<Event, std::vector<Event>, std::greater<>> running;
  for (TaskId task = 0; task < tasks.size(); ++task) {
    if (waiting[task] == 0) running.push({durations[tasks[task].price], task});
  }
  while (!running.empty()) {
    const Event ended = running.top();
    running.pop();
    times.finish[ended.task] = ended.time;
    for (const TaskId next : graph.successors(ended.task)) {
      if (--waiting[next] == 0) running.push({ended.time + durations[tasks[next].price], next});
    }
  }

  for (TaskId task = 0; task < tasks.size(); ++task) {
    if (waiting[task] > 0) times.stuck.push_back(task);
  }
  return times;
}

}  // namespace prequel
