#pragma once

/// A discrete-event run of a stored task graph.

#include <span>
#include <vector>

#include "sim/engine/task_graph.hpp"

namespace prequel {

struct EventTimes {
  std::vector<double> finish;  ///< s, by task; a stuck task's is infinite
  std::vector<TaskId> stuck;   ///< tasks that wait for one another and never start; empty is good

  /// End of the last task, s.
  [[nodiscard]] double end() const;
};

/// Runs each task as soon as all it waits for is done, for the duration (s) of its price. Tasks
/// that end at one moment end in the order of their ids.
[[nodiscard]] EventTimes run_events(const TaskGraph& graph, std::span<const double> durations);

}  // namespace prequel
