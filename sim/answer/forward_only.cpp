#include "sim/answer/forward_only.hpp"

#include "sim/step/step.hpp"

namespace prequel {

Seconds forward_only_time(const Scenario& scenario) {
  const Step step = step_of(scenario);
  PipelineShape shape = step.shape;
  const bool gathered = in_every_micro_batch(shape.gathers);
  if (!gathered) {
    shape.buckets = 0;
    shape.gathers = Gathers::never;
  }
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (const TaskKind kind : {TaskKind::forward, TaskKind::forward_bucket,
                                  TaskKind::parameter_gather, TaskKind::send_forward}) {
        if (kind == TaskKind::parameter_gather && !gathered) continue;
        durations.at(kind, stage, chunk) = step.durations.at(kind, stage, chunk);
      }
    }
  }
  // Nobody waits for a backward pass.
  const Schedule schedule = shape.chunks == 1 ? Schedule::gpipe : step.schedule;
  return {run_clock(schedule, shape, durations).seconds};
}

}  // namespace prequel
