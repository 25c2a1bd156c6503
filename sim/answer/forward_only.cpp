#include "sim/step/iteration.hpp"

namespace prequel {
namespace {

/// Stages hand forward passes on; nothing is reduced or gathered, and nobody waits for a backward
/// pass.
double pipeline_seconds(const PipelineGame& game) {
  PipelineShape shape = game.shape;
  shape.buckets = 0;
  shape.gathers = false;
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (const TaskKind kind : {TaskKind::forward, TaskKind::send_forward}) {
        durations.at(kind, stage, chunk) = game.durations.at(kind, stage, chunk);
      }
    }
  }
  const ScheduleKind kind = shape.chunks == 1 ? ScheduleKind::gpipe : game.kind;
  return run_clock(kind, shape, durations).seconds;
}

double sharded_seconds(const ShardedGame& game) {
  ShardedTable durations(game.shape.units());
  for (std::uint32_t unit = 0; unit < game.shape.units(); ++unit) {
    for (const ShardedTask task : {ShardedTask::forward_gather, ShardedTask::forward}) {
      durations.at(task, unit) = game.durations.at(task, unit);
    }
  }
  return run_clock(game.shape, durations).seconds;
}

}  // namespace

Seconds forward_only_time(const Scenario& scenario) {
  return {is_fully_sharded(scenario) ? sharded_seconds(sharded_game(scenario))
                                     : pipeline_seconds(pipeline_game(scenario))};
}

}  // namespace prequel
