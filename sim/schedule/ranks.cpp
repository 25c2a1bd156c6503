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

}  // namespace

std::vector<double> run_ranks(Schedule kind, const PipelineShape& shape,
                              const BlockTable& durations, const StageRanks& ranks,
                              const RankSlowness& slowness, Jitter jitter, std::uint32_t samples) {
  assert(shape_problem(kind, shape).empty());
  const auto tasks = lane_tasks(shape, durations, ranks);
  const auto lanes_slow = lane_slowness(shape, ranks, slowness);
  Lanes lanes(tasks, lanes_slow, stream_count(shape), ranks.count(), ranks.tensor_parallel, jitter);
  std::vector<double> seconds;
  seconds.reserve(samples);
  for (std::uint32_t sample = 0; sample < samples; ++sample) {
    lanes.restart(jitter.seed + sample);
    emit_pipeline(kind, shape, lanes);
    emit_step_end(kind, shape, lanes);
    seconds.push_back(lanes.end());
  }
  return seconds;
}

}  // namespace prequel
