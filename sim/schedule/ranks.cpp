#include "sim/schedule/ranks.hpp"

#include <algorithm>
#include <cassert>

#include "sim/schedule/emit.hpp"

namespace prequel {
namespace {

LaneTask lane_task(const TaskTraits& task, double duration, const StageRanks& ranks,
                   Meetings meetings, std::uint32_t buckets) {
  if (!task.is_pass()) return {duration, 1, task.sync, false};
  if (task.in_buckets) {
    meetings.all = std::max(1U, meetings.all / buckets);
    // To the next whole pair: of DeepSeek's layers all but the first few have experts.
    const std::uint32_t pairs = (meetings.exchanges / 2 + buckets / 2) / buckets;
    meetings.exchanges = std::min(2 * pairs, meetings.all / 2 * 2);
  }
  return {duration, meetings.all, task.sync, true, ranks.kernels, meetings.exchanges};
}

std::vector<LaneTask> lane_tasks(const PipelineShape& shape, const BlockTable& durations,
                                 const StageRanks& ranks, const BlockTable* per_load) {
  assert(ranks.meetings.size() == 1 || ranks.meetings.size() == shape.blocks());
  std::vector<LaneTask> tasks;
  tasks.reserve(durations.values().size());
  for (const TaskTraits& task : kTasks) {
    for (std::uint32_t block = 0; block < shape.blocks(); ++block) {
      const PriceId price = BlockTable::price(task.kind, block, shape.blocks());
      tasks.push_back(lane_task(task, durations.values()[price], ranks,
                                ranks.meetings[block % ranks.meetings.size()],
                                std::max(1U, shape.buckets)));
      if (per_load) tasks.back().per_load = per_load->values()[price];
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
                              const RankSlowness& slowness, Jitter jitter, std::uint32_t samples,
                              const BlockTable* per_load) {
  assert(shape_problem(kind, shape).empty());
  const auto tasks = lane_tasks(shape, durations, ranks, per_load);
  const auto lanes_slow = lane_slowness(shape, ranks, slowness);
  Lanes lanes(tasks, lanes_slow, stream_count(shape), ranks.count(),
              {ranks.tensor_parallel, ranks.expert_parallel}, jitter);
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
