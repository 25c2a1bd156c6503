#include "sim/answer/detailed_time.hpp"

#include "sim/engine/event_queue.hpp"
#include "sim/step/step.hpp"

namespace prequel {

Seconds detailed_time(const Scenario& scenario) {
  const Step step = step_of(scenario);
  const TaskGraph graph = build_graph(step.schedule, step.shape);
  return Seconds{run_events(graph, step.durations.values()).end()} + step.fixed;
}

}  // namespace prequel
