#include "sim/answer/detailed_time.hpp"

#include "sim/engine/event_queue.hpp"
#include "sim/step/iteration.hpp"

namespace prequel {

Seconds detailed_time(const Scenario& scenario) {
  const Seconds fixed = scenario.software.host.fixed_per_iteration;
  if (is_fully_sharded(scenario)) {
    const ShardedGame game = sharded_game(scenario);
    return Seconds{run_events(build_graph(game.shape), game.durations.values()).end()} + fixed;
  }
  const PipelineGame game = pipeline_game(scenario);
  const TaskGraph graph = build_graph(game.kind, game.shape);
  return Seconds{run_events(graph, game.durations.values()).end()} + fixed;
}

}  // namespace prequel
