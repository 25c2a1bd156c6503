#include "sim/schedule/ranks.hpp"

#include <algorithm>
#include <cassert>

#include "sim/schedule/emit.hpp"

namespace prequel {
namespace {

LaneTask lane_task(const TaskTraits& task, double duration, const StageRanks& ranks,
                   std::uint32_t buckets) {
  if (!task.is_pass()) return {duration, 1, task.sync, false};
  const std::uint32_t parts =
      task.in_buckets ? std::max(1U, ranks.synchronisations / buckets) : ranks.synchronisations;
  return {duration, parts, task.sync, true, ranks.kernels};
}

std::vector<LaneTask> lane_tasks(const PipelineShape& shape, const BlockTable& durations,
                                 const StageRanks& ranks) {
  std::vector<LaneTask> tasks;
  tasks.reserve(durations.values().size());
  for (const TaskTraits& task : kTasks) {
    for (std::uint32_t block = 0; block < shape.blocks(); ++block) {
      const double duration =
          durations.values()[BlockTable::price(task.kind, block, shape.blocks())];
      tasks.push_back(lane_task(task, duration, ranks, std::max(1U, shape.buckets)));
    }
  }
  return tasks;
}

std::vector<double> lane_slowness(const PipelineShape& shape, const StageRanks& ranks,
                                  const RankSlowness& slowness) {
  std::vector<double> lanes;
  lanes.reserve(stream_count(shape) * ranks.count());
  for (std::size_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t stream = 0; stream < kStageStreams; ++stream) {
      const auto kind = static_cast<StageStream>(stream);
      const bool sends = kind == StageStream::send_forward || kind == StageStream::send_backward;
      const bool computes = kind == StageStream::compute;
      for (std::size_t i = stage * ranks.count(); i < (stage + 1) * ranks.count(); ++i) {
        if (computes && !slowness.compute.empty()) {
          lanes.push_back(slowness.compute[i]);
        } else if (sends && !slowness.sends.empty()) {
          lanes.push_back(slowness.sends[i]);
        } else {
          lanes.push_back(1);
        }
      }
    }
  }
  return lanes;
}

LaneTask lane_task(ShardedTask kind, double duration, const StageRanks& ranks) {
  switch (kind) {
    case ShardedTask::forward:
    case ShardedTask::backward:
      return {duration, ranks.synchronisations, LaneSync::group, true, ranks.kernels};
    case ShardedTask::forward_gather:
    case ShardedTask::backward_gather:
    case ShardedTask::reduce_scatter: return {duration, 1, LaneSync::across, false};
    case ShardedTask::optimizer: return {duration, 1, LaneSync::none, false};
  }
  return {};
}

std::vector<LaneTask> lane_tasks(const ShardedShape& shape, const ShardedTable& durations,
                                 const StageRanks& ranks) {
  std::vector<LaneTask> tasks;
  tasks.reserve(durations.values().size());
  for (const double duration : durations.values()) {
    const auto kind = static_cast<ShardedTask>(tasks.size() / shape.units());
    tasks.push_back(lane_task(kind, duration, ranks));
  }
  return tasks;
}

/// Plays the step for each sample; `emit` tells all of its tasks.
template <class Emit>
std::vector<double> play(Lanes& lanes, std::uint64_t seed, std::uint32_t samples,
                         const Emit& emit) {
  std::vector<double> seconds;
  seconds.reserve(samples);
  for (std::uint32_t sample = 0; sample < samples; ++sample) {
    lanes.restart(seed + sample);
    emit();
    seconds.push_back(lanes.end());
  }
  return seconds;
}

}  // namespace

std::vector<double> run_ranks(ScheduleKind kind, const PipelineShape& shape,
                              const BlockTable& durations, const StageRanks& ranks,
                              const RankSlowness& slowness, Jitter jitter, std::uint32_t samples) {
  assert(shape_problem(kind, shape).empty());
  const auto tasks = lane_tasks(shape, durations, ranks);
  const auto lanes_slow = lane_slowness(shape, ranks, slowness);
  Lanes lanes(tasks, lanes_slow, stream_count(shape), ranks.count(), ranks.tensor_parallel, jitter);
  return play(lanes, jitter.seed, samples, [&] {
    emit_pipeline(kind, shape, lanes);
    emit_step_end(kind, shape, lanes);
  });
}

std::vector<double> run_ranks(const ShardedShape& shape, const ShardedTable& durations,
                              const StageRanks& ranks, const RankSlowness& slowness, Jitter jitter,
                              std::uint32_t samples) {
  assert(slowness.compute.empty() || slowness.compute.size() == ranks.count());
  const auto tasks = lane_tasks(shape, durations, ranks);
  std::vector<double> lanes_slow(std::size_t{kShardedStreams} * ranks.count(), 1.0);
  const std::size_t compute = static_cast<std::size_t>(ShardedStream::compute) * ranks.count();
  std::ranges::copy(slowness.compute, lanes_slow.begin() + static_cast<std::ptrdiff_t>(compute));
  Lanes lanes(tasks, lanes_slow, kShardedStreams, ranks.count(), ranks.tensor_parallel, jitter);
  return play(lanes, jitter.seed, samples, [&] { emit_fully_sharded(shape, lanes); });
}

}  // namespace prequel
