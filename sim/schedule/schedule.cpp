#include "sim/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/engine/clock.hpp"
#include "sim/engine/peak.hpp"
#include "sim/schedule/emit.hpp"

namespace prequel {

std::uint32_t chunks_of(ScheduleKind kind, std::uint32_t vpp) {
  return traits(kind).mirrored ? 2 * vpp : vpp;
}

std::uint32_t model_part(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage,
                         std::uint32_t chunk) {
  if (traits(kind).mirrored) return chunk == 0 ? stage : shape.stages - 1 - stage;
  return chunk * shape.stages + stage;
}

std::string shape_problem(ScheduleKind kind, const PipelineShape& shape) {
  if (auto problem = stages_problem(kind, shape.stages, shape.chunks / chunks_of(kind, 1));
      !problem.empty()) {
    return problem;
  }
  const Rounds taken = rounds(kind, shape.stages);
  if (taken.take(shape.micro_batches)) return {};
  return fmt::format("schedule {} needs micro batches in {}, but there are {}; {} would do",
                     name(kind), text_of(taken), shape.micro_batches,
                     taken.next(shape.micro_batches));
}

ScheduleResult run_clock(ScheduleKind kind, const PipelineShape& shape,
                         const BlockTable& durations) {
  assert(shape_problem(kind, shape).empty());
  const auto exact =
      exact_durations(durations.values(), std::max(shape.micro_batches, shape.buckets));
  Clock clock(exact, stream_count(shape));

  emit_pipeline(kind, shape, clock);
  ScheduleResult result;
  result.stages.reserve(shape.stages);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const StreamId compute = stream_of(StageStream::compute, stage);
    const StreamId communication = stream_of(StageStream::communication, stage);
    result.stages.push_back(
        {clock.busy(compute), clock.finish(compute), clock.finish(communication), 0});
  }

  emit_step_end(kind, shape, clock);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const double end = clock.finish(stream_of(StageStream::compute, stage));
    result.stages[stage].step_end = end;
    result.seconds = std::max(result.seconds, end);
  }
  return result;
}

std::vector<double> peak_held(ScheduleKind kind, const PipelineShape& shape,
                              const BlockTable& changes) {
  assert(shape_problem(kind, shape).empty());
  // In buckets or not, the passes are the same.
  PipelineShape passes = shape;
  passes.buckets = 0;
  Peak peak(changes.values(), stream_count(shape));
  emit_pipeline(kind, passes, peak);
  std::vector<double> held(shape.stages);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    held[stage] = peak.peak(stream_of(StageStream::compute, stage));
  }
  return held;
}

std::vector<double> in_flight(ScheduleKind kind, const PipelineShape& shape) {
  BlockTable changes(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      changes.at(TaskKind::forward, stage, chunk) = 1;
      changes.at(TaskKind::backward, stage, chunk) = -1;
      changes.at(TaskKind::weight_gradient, stage, chunk) = -1;
    }
  }
  return peak_held(kind, shape, changes);
}

TaskGraph build_graph(ScheduleKind kind, const PipelineShape& shape) {
  assert(shape_problem(kind, shape).empty());
  GraphBuilder builder(stream_count(shape));
  emit_pipeline(kind, shape, builder);
  emit_step_end(kind, shape, builder);
  return builder.build();
}

}  // namespace prequel
