#include "sim/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/engine/clock.hpp"
#include "sim/schedule/emit.hpp"
#include "sim/schedule/held_moments.hpp"

namespace prequel {

std::uint32_t chunks_of(Schedule kind, std::uint32_t vpp) {
  return traits(kind).mirrored ? 2 * vpp : vpp;
}

std::uint32_t model_part(Schedule kind, const PipelineShape& shape, std::uint32_t stage,
                         std::uint32_t chunk) {
  if (traits(kind).mirrored) return chunk == 0 ? stage : shape.stages - 1 - stage;
  if (traits(kind).folded && chunk == 1) return 2 * shape.stages - 1 - stage;
  return chunk * shape.stages + stage;
}

std::uint32_t receiver(Schedule kind, const PipelineShape& shape, TaskKind send,
                       std::uint32_t stage, std::uint32_t chunk) {
  const ScheduleTraits its = traits(kind);
  const bool turned = chunk == 1 && (its.mirrored || its.folded);
  const bool up = (send == TaskKind::send_forward) != turned;
  return (stage + (up ? 1 : shape.stages - 1)) % shape.stages;
}

std::string shape_problem(Schedule kind, const PipelineShape& shape) {
  if (shape.is_layer_by_layer()) return {};
  if (shape.chunks > kPlayedChunks) {
    return fmt::format("vpp {}: no schedule is played with more than {} chunks a stage",
                       shape.chunks, kPlayedChunks);
  }
  if (shape.stages > kPlayedStages) {
    return fmt::format("pp {}: no schedule is played with more than {} stages", shape.stages,
                       kPlayedStages);
  }
  if (auto problem = stages_problem(kind, shape.stages, shape.chunks / chunks_of(kind, 1));
      !problem.empty()) {
    return problem;
  }
  if (auto problem = group_problem(kind, shape.stages, shape.group); !problem.empty()) {
    return problem;
  }
  const Rounds taken = rounds(kind, shape.stages, shape.group);
  if (taken.take(shape.micro_batches)) return {};
  return fmt::format("schedule {} needs micro batches in {}, but there are {}; {} would do",
                     name(kind), text_of(taken), shape.micro_batches,
                     taken.next(shape.micro_batches));
}

ScheduleResult run_clock(Schedule kind, const PipelineShape& shape, const BlockTable& durations) {
  assert(shape_problem(kind, shape).empty());
  const auto exact = exact_durations(durations.values(), shape.most_runs());
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
    result.stages[stage].step_end = clock.finish(stream_of(StageStream::compute, stage));
  }
  // No optimizer waits for the last sends where each stage's step has a clock of its own.
  result.seconds = clock.end();
  return result;
}

std::vector<InFlight> in_flight(Schedule kind, const PipelineShape& shape) {
  assert(shape_problem(kind, shape).empty());
  PipelineShape passes = shape;  // in buckets or not, they are the same
  passes.buckets = 0;
  passes.gathers = Gathers::never;
  HeldMoments moments(shape);
  emit_pipeline(kind, passes, moments);
  return std::move(moments).in_flight();
}

TaskGraph build_graph(Schedule kind, const PipelineShape& shape) {
  assert(shape_problem(kind, shape).empty());
  GraphBuilder builder(stream_count(shape));
  emit_pipeline(kind, shape, builder);
  emit_step_end(kind, shape, builder);
  return builder.build();
}

}  // namespace prequel
