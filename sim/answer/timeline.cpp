#include "sim/answer/timeline.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "models/memory/memory.hpp"
#include "sim/engine/clock.hpp"
#include "sim/engine/recorder.hpp"
#include "sim/step/account.hpp"
#include "sim/step/plan_memory.hpp"
#include "sim/step/tell_step.hpp"

namespace prequel {
namespace {

/// A task's kind, place and stream.
struct Piece {
  TaskKind kind{};
  StageStream stream{};
  std::uint32_t block{};
  std::uint32_t buckets = 1;  ///< in which its block is passed or reduced; of these it is one
};

std::uint16_t stage_of(const PlayedTask& task) {
  return static_cast<std::uint16_t>(task.stream / kStageStreams);
}

/// From the task that ends last back to the one that nothing held up: without a gap.
std::vector<TaskId> critical_path(const std::vector<PlayedTask>& tasks) {
  std::vector<TaskId> path;
  if (tasks.empty()) return path;
  const auto ends_sooner = [](const auto& a, const auto& b) { return a.end < b.end; };
  const auto last = std::ranges::max_element(tasks, ends_sooner);
  for (auto id = static_cast<TaskId>(last - tasks.begin()); id != PlayedTask::kNothing;
       id = tasks[id].held_up_by) {
    path.push_back(id);
  }
  return path;
}

/// Returns the change in the number of activations that its stage holds, counted in parts of a
/// block, before a task starts or after it ends.
std::int64_t change_of(TaskKind kind, Keeps change, std::int64_t parts) {
  const TaskTraits& task = traits(kind);
  if (task.activations != change) return 0;
  return task.in_buckets ? 1 : parts;
}

/// From tasks as played to slices, and to what each stage holds meanwhile.
class TimelineBuilder {
 public:
  TimelineBuilder(const Step& step, const Recorder& recorder)
      : shape_(step.shape), tasks_(recorder.tasks()) {
    pieces_.reserve(tasks_.size());
    for (const PlayedTask& task : tasks_) {
      pieces_.push_back(piece_of(task));
    }
    timeline_.seconds = play(step).seconds.value;
    timeline_.memory.resize(shape_.stages);
    timeline_.blocks = step.blocks;
  }

  /// `held(stage, computing, parts)`: what a stage holds while one of its chunks computes, or none,
  /// with so many parts of each chunk in flight, of which a whole block has `parts`.
  template <class Held>
  Timeline build(const Recorder& recorder, std::int64_t parts, Held held) && {
    add_slices(recorder);
    add_memory(parts, held);
    return std::move(timeline_);
  }

 private:
  [[nodiscard]] Piece piece_of(const PlayedTask& task) const {
    const auto kind = static_cast<TaskKind>(task.label.kind);
    return {kind, static_cast<StageStream>(task.stream % kStageStreams),
            task.price % shape_.blocks(),
            traits(kind).in_buckets ? std::max(1U, shape_.buckets) : 1U};
  }

  void add_slices(const Recorder& recorder) {
    std::vector<bool> critical(tasks_.size());
    for (const TaskId id : critical_path(tasks_)) critical[id] = true;
    std::vector<std::uint32_t> slice_of(tasks_.size());
    timeline_.slices.reserve(tasks_.size());
    std::vector<std::uint32_t> buckets_done(kTaskKinds * timeline_.blocks.size());
    for (TaskId id = 0; id < tasks_.size(); ++id) {
      const PlayedTask& task = tasks_[id];
      const auto& [kind, stream, block, buckets] = pieces_[id];
      const std::size_t place = static_cast<std::size_t>(kind) * timeline_.blocks.size() + block;
      const std::uint32_t bucket = buckets_done[place]++ % buckets;
      if (task.end <= task.start) continue;
      slice_of[id] = static_cast<std::uint32_t>(timeline_.slices.size());
      timeline_.slices.push_back({kind, stream, stage_of(task), task.label.chunk, critical[id],
                                  block, task.label.index, bucket, buckets, task.start, task.end});
    }
    const auto takes_time = [&](TaskId id) { return tasks_[id].end > tasks_[id].start; };
    for (const auto& [from, to] : recorder.orders()) {
      const bool crosses = stage_of(tasks_[from]) != stage_of(tasks_[to]);
      if (!traits(pieces_[from].kind).is_send() || !crosses || !takes_time(from) || !takes_time(to))
        continue;
      timeline_.transfers.push_back({slice_of[from], slice_of[to]});
    }
  }

  void add_point(std::uint16_t stage, double time, MemoryPoint point) {
    point.time_s = time;
    timeline_.memory[stage].push_back(point);
  }

  template <class Held>
  void add_memory(std::int64_t parts, Held& held) {
    std::vector<std::vector<std::int64_t>> in_flight(timeline_.memory.size(),
                                                     std::vector<std::int64_t>(shape_.chunks));
    for (std::uint16_t stage = 0; stage < timeline_.memory.size(); ++stage) {
      add_point(stage, 0, held(stage, ChunkMoment::kNone, in_flight[stage]));
    }
    for (TaskId id = 0; id < tasks_.size(); ++id) {
      const PlayedTask& task = tasks_[id];
      const Piece& piece = pieces_[id];
      if (piece.stream != StageStream::compute || !traits(piece.kind).is_pass()) continue;
      const std::uint16_t stage = stage_of(task);
      const std::size_t chunk = task.label.chunk;
      in_flight[stage][chunk] += change_of(piece.kind, Keeps::takes, parts);
      add_point(stage, task.start, held(stage, chunk, in_flight[stage]));
      in_flight[stage][chunk] -= change_of(piece.kind, Keeps::frees, parts);
      add_point(stage, task.end, held(stage, ChunkMoment::kNone, in_flight[stage]));
    }
  }

  const PipelineShape& shape_;
  const std::vector<PlayedTask>& tasks_;
  std::vector<Piece> pieces_;
  Timeline timeline_;
};

/// Returns its parts as a point without a time.
MemoryPoint point_of(const StageMemory& memory, const Scenario& scenario) {
  const Bytes held = printed_peak(memory, most_reserved(scenario.device, scenario.software));
  return {0, held, memory.activations, memory.buffers, memory.gradients, memory.total() - held};
}

/// The chunks that a stage holds at a moment; each distinct set is priced once. A chunk that is
/// held in part is counted whole, as the memory model knows no parts.
class HeldChunks {
 public:
  HeldChunks(const Scenario& scenario, const PartWeights& weights, std::int64_t parts)
      : scenario_(scenario),
        weights_(weights),
        parts_(parts),
        stages_(stage_chunks(scenario)),
        known_(stages_.size()) {}

  MemoryPoint operator()(std::uint32_t stage, std::size_t computing,
                         const std::vector<std::int64_t>& held_parts) {
    ChunkMoment moment{computing, held_parts};
    for (std::int64_t& held : moment.held) held = (held + parts_ - 1) / parts_;
    const auto [known, is_new] = known_[stage].try_emplace(moment);
    if (is_new) {
      InFlight in_flight;
      in_flight.moments = {moment};
      known->second = point_of(stage_memory(weights_, scenario_.model, scenario_.plan,
                                            scenario_.software, stages_[stage], in_flight),
                               scenario_);
    }
    return known->second;
  }

 private:
  const Scenario& scenario_;
  const PartWeights& weights_;
  std::int64_t parts_;
  std::vector<std::vector<StageContent>> stages_;
  std::vector<std::map<ChunkMoment, MemoryPoint>> known_;
};

}  // namespace

std::int64_t timeline_passes(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const bool by_layer = in_every_micro_batch(gathers_of(plan, scenario.software));
  const std::int64_t parts = by_layer ? scenario.model.layers : plan.pp * plan.vpp;
  return plan.micro_batches() * parts;
}

std::int64_t most_timeline_gbs(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const std::int64_t parts = timeline_passes(scenario) / plan.micro_batches();
  const std::int64_t micro_batches = kMostTimelinePasses / parts / plan.pp * plan.pp;
  return micro_batches * plan.dp * plan.mbs;
}

StageShares stage_shares(const Scenario& scenario, const Prediction& prediction) {
  StageShares shares{prediction.sec_per_iter.value, {}};
  for (const StagePrediction& stage : prediction.stages) {
    const Breakdown& time = stage.time;
    shares.stages.push_back({.computing_s = time.compute + time.recompute + time.optimizer,
                             .communicating_s = time.communication(),
                             .bubble_s = time.bubble,
                             .host_s = time.host + time.other});
  }
  const Step step = step_of(scenario);
  const auto exact = exact_durations(step.durations.values(), step.shape.most_runs());
  Recorder recorder(exact, stream_count(step.shape));
  tell(step, recorder);
  for (const TaskId id : critical_path(recorder.tasks())) {
    const PlayedTask& task = recorder.tasks()[id];
    shares.stages[stage_of(task)].critical_s += task.end - task.start;
  }
  return shares;
}

Timeline timeline(const Scenario& scenario) {
  const LayerCosts layers = price_layers(scenario);
  const Step step = step_of(scenario, layers);
  const auto exact = exact_durations(step.durations.values(), step.shape.most_runs());
  Recorder recorder(exact, stream_count(step.shape));
  tell(step, recorder);
  TimelineBuilder builder(step, recorder);
  if (!step.shape.is_layer_by_layer()) {
    const std::int64_t parts = std::max(1U, step.shape.buckets);
    return std::move(builder).build(recorder, parts, HeldChunks(scenario, layers.weights, parts));
  }
  // The root keeps nothing that the memory model counts as activations of layers, but passes as
  // they do, so all units together hold what one micro batch does.
  const StageMemory full = stage_memory(layers.weights, scenario.model, scenario.plan,
                                        scenario.software, {whole_model(scenario.model)}, 1);
  const double units = step.shape.chunks;
  return std::move(builder).build(recorder, 1,
                                  [&](std::uint32_t /*stage*/, std::size_t /*computing*/,
                                      const std::vector<std::int64_t>& held_units) {
                                    StageMemory memory = full;
                                    const double held =
                                        std::accumulate(held_units.begin(), held_units.end(), 0.0);
                                    memory.activations = (held / units) * full.activations;
                                    return point_of(memory, scenario);
                                  });
}

}  // namespace prequel
