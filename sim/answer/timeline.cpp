#include "sim/answer/timeline.hpp"

#include <algorithm>

#include "models/memory/memory.hpp"
#include "sim/engine/clock.hpp"
#include "sim/engine/recorder.hpp"
#include "sim/schedule/emit.hpp"
#include "sim/step/iteration.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// A task in terms that pipelines and fully sharded layers share.
struct Piece {
  TaskKind kind{};
  StageStream stream{};
  std::uint32_t block{};
  std::uint32_t buckets = 1;  ///< in which its block is passed or reduced; of these it is one
};

bool communicates(const Piece& piece) {
  return piece.stream != StageStream::compute || traits(piece.kind).is_send();
}

struct KernelsAndHost {
  double kernels{}, host{};
};

/// Of one task's duration on the compute stream. The rest is exposed communication.
KernelsAndHost kernels_and_host(const Piece& piece, const ChunkCosts& costs, double duration) {
  const auto share = [&](const PassCost& pass) {
    const double buckets = piece.buckets;
    return KernelsAndHost{(pass.compute + pass.recompute) / buckets, pass.host / buckets};
  };
  switch (traits(piece.kind).part_of) {
    case TaskKind::forward: return share(costs.forward);
    case TaskKind::backward: return share(costs.backward);
    case TaskKind::input_gradient: {
      KernelsAndHost of_pass = share(costs.backward);
      of_pass.kernels -= costs.backward.weight_gradient;
      return of_pass;
    }
    case TaskKind::weight_gradient:
    case TaskKind::optimizer: return {duration, 0};
    default: return {};
  }
}

/// What a task changes in the number of activations that its stage holds, counted in parts of a
/// block: before it starts, or after it ends.
std::int64_t change_of(TaskKind kind, Keeps change, std::int64_t parts) {
  const TaskTraits& task = traits(kind);
  if (task.activations != change) return 0;
  return task.in_buckets ? 1 : parts;
}

/// From tasks as played to slices, and to what each stage does with its time.
class TimelineBuilder {
 public:
  /// `piece` describes a task; the tasks of a stage have its number as their label's.
  template <class PieceOf>
  TimelineBuilder(const Recorder& recorder, const PieceOf& piece, std::uint32_t stages,
                  std::vector<TimelineBlock> blocks)
      : tasks_(recorder.tasks()), stage_end_(stages) {
    pieces_.reserve(tasks_.size());
    for (const PlayedTask& task : tasks_) {
      pieces_.push_back(piece(task));
      timeline_.seconds = std::max(timeline_.seconds, task.end);
    }
    timeline_.stages.resize(stages);
    timeline_.blocks = std::move(blocks);
  }

  [[nodiscard]] std::uint16_t stage_of(const PlayedTask& task) const {
    return timeline_.stages.size() == 1 ? std::uint16_t{0} : task.label.stage;
  }

  /// `held(stage, parts)`: what a stage holds with so many parts of blocks in flight, of
  /// which a whole block has `parts`.
  template <class Held>
  Timeline build(const Recorder& recorder, std::int64_t parts, Seconds fixed, const Held& held) && {
    const std::vector<bool> critical = critical_path();
    add_slices(recorder, critical);
    add_memory(parts, held);
    for (TaskId id = 0; id < tasks_.size(); ++id) add_time(id);
    for (std::size_t i = 0; i < timeline_.stages.size(); ++i) {
      timeline_.stages[i].bubble_s += timeline_.seconds - stage_end_[i];
      timeline_.stages[i].host_s += fixed.value;
    }
    timeline_.seconds += fixed.value;
    return std::move(timeline_);
  }

 private:
  /// From the task that ends last back to the one that nothing held up: without a gap.
  std::vector<bool> critical_path() {
    std::vector<bool> critical(tasks_.size());
    if (tasks_.empty()) return critical;
    const auto ends_sooner = [](const auto& a, const auto& b) { return a.end < b.end; };
    const auto last = std::ranges::max_element(tasks_, ends_sooner);
    for (auto id = static_cast<TaskId>(last - tasks_.begin()); id != PlayedTask::kNothing;
         id = tasks_[id].held_up_by) {
      critical[id] = true;
      const PlayedTask& task = tasks_[id];
      timeline_.stages[stage_of(task)].critical_s += task.end - task.start;
    }
    return critical;
  }

  void add_slices(const Recorder& recorder, const std::vector<bool>& critical) {
    std::vector<std::uint32_t> slice_of(tasks_.size());
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
    timeline_.stages[stage].memory.push_back(point);
  }

  template <class Held>
  void add_memory(std::int64_t parts, const Held& held) {
    std::vector<std::int64_t> in_flight(timeline_.stages.size());
    const auto change = [&](std::uint16_t stage, double time, std::int64_t by) {
      if (by == 0) return;
      in_flight[stage] += by;
      add_point(stage, time, held(stage, in_flight[stage]));
    };
    for (std::uint16_t stage = 0; stage < timeline_.stages.size(); ++stage) {
      add_point(stage, 0, held(stage, 0));
    }
    for (TaskId id = 0; id < tasks_.size(); ++id) {
      const PlayedTask& task = tasks_[id];
      const Piece& piece = pieces_[id];
      if (piece.stream != StageStream::compute) continue;
      change(stage_of(task), task.start, change_of(piece.kind, Keeps::takes, parts));
      change(stage_of(task), task.end, -change_of(piece.kind, Keeps::frees, parts));
    }
  }

  /// Adds a task of a compute stream, and the wait before it, to its stage's sums.
  void add_time(TaskId id) {
    const PlayedTask& task = tasks_[id];
    const Piece& piece = pieces_[id];
    if (piece.stream != StageStream::compute) return;
    const std::uint16_t number = stage_of(task);
    StageTimeline& stage = timeline_.stages[number];
    const double duration = task.end - task.start;
    const auto [kernels, host] =
        kernels_and_host(piece, timeline_.blocks[piece.block].costs, duration);
    const double waited = exposed_wait(id, stage_end_[number]);
    stage.computing_s += kernels;
    stage.host_s += host;
    // Neither is below 0 but by rounding.
    stage.communicating_s += std::max(0.0, duration - kernels - host) + waited;
    stage.bubble_s += std::max(0.0, task.start - stage_end_[number] - waited);
    stage_end_[number] = task.end;
  }

  /// How much of the time between `idle_from` and the task's start is communication that it waits
  /// for: what held it up, and on its own stage what held up that.
  [[nodiscard]] double exposed_wait(TaskId id, double idle_from) const {
    double waited = 0;
    const std::uint16_t stage = stage_of(tasks_[id]);
    TaskId before = tasks_[id].held_up_by;
    for (bool own = true; own && before != PlayedTask::kNothing;
         before = tasks_[before].held_up_by) {
      const PlayedTask& task = tasks_[before];
      if (!communicates(pieces_[before]) || task.end <= idle_from) break;
      waited += task.end - std::max(task.start, idle_from);
      own = stage_of(task) == stage;
    }
    return waited;
  }

  const std::vector<PlayedTask>& tasks_;
  std::vector<Piece> pieces_;
  std::vector<double> stage_end_;
  Timeline timeline_;
};

/// What is held of it, at no time yet.
MemoryPoint point_of(const StageMemory& memory, const Scenario& scenario) {
  const Bytes held = printed_peak(memory, scenario.device, scenario.software);
  return {0, held, memory.activations, memory.total() - held};
}

Timeline pipeline_timeline(const Scenario& scenario) {
  const PipelineGame game = pipeline_game(scenario);
  const PipelineShape& shape = game.shape;
  const auto exact =
      exact_durations(game.durations.values(), std::max(shape.micro_batches, shape.buckets));
  Recorder recorder(exact, stream_count(shape));
  emit_pipeline(game.kind, shape, recorder);
  emit_step_end(game.kind, shape, recorder);

  const LayerCosts layers = price_layers(scenario);
  std::vector<std::int64_t> first_layer(game.parts.size() + 1);
  for (std::size_t part = 0; part < game.parts.size(); ++part) {
    first_layer[part + 1] = first_layer[part] + game.parts[part].blocks;
  }
  std::vector<TimelineBlock> blocks(shape.blocks());
  std::vector<std::vector<StageContent>> stages(shape.stages);
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      const std::uint32_t part = model_part(game.kind, shape, stage, chunk);
      const StageContent& content = game.parts[part];
      blocks[chunk * shape.stages + stage] = {content, first_layer[part],
                                              chunk_costs(layers, content)};
      stages[stage].push_back(content);
    }
  }

  const std::int64_t parts = std::max(1U, shape.buckets);
  const auto piece = [&](const PlayedTask& task) {
    const auto kind = static_cast<TaskKind>(task.label.kind);
    return Piece{kind, static_cast<StageStream>(task.stream % kStageStreams),
                 task.label.chunk * shape.stages + task.label.stage,
                 traits(kind).in_buckets ? std::max(1U, shape.buckets) : 1U};
  };
  // A chunk that is held in part is counted whole, as the memory model knows no parts.
  std::vector<std::vector<MemoryPoint>> known(shape.stages);
  const auto held = [&](std::uint32_t stage, std::int64_t held_parts) {
    const auto chunks = static_cast<std::size_t>((held_parts + parts - 1) / parts);
    while (known[stage].size() <= chunks) {
      const auto count = static_cast<std::int64_t>(known[stage].size());
      const StageMemory memory =
          stage_memory(scenario.model, scenario.plan, scenario.software, stages[stage], count);
      known[stage].push_back(point_of(memory, scenario));
    }
    return known[stage][chunks];
  };
  return TimelineBuilder(recorder, piece, shape.stages, std::move(blocks))
      .build(recorder, parts, scenario.software.host.fixed_per_iteration, held);
}

Piece sharded_piece(const PlayedTask& task) {
  const auto stream = static_cast<ShardedStream>(task.stream) == ShardedStream::compute
                          ? StageStream::compute
                          : StageStream::communication;
  const auto kind = [&] {
    switch (static_cast<ShardedTask>(task.label.kind)) {
      case ShardedTask::forward: return TaskKind::forward;
      case ShardedTask::backward: return TaskKind::backward;
      case ShardedTask::forward_gather:
      case ShardedTask::backward_gather: return TaskKind::parameter_gather;
      case ShardedTask::reduce_scatter: return TaskKind::gradient_reduce;
      case ShardedTask::optimizer: break;
    }
    return TaskKind::optimizer;
  }();
  return {kind, stream, task.label.stage};
}

Timeline sharded_timeline(const Scenario& scenario) {
  const auto [shape, durations] = sharded_game(scenario);
  const auto exact = exact_durations(durations.values(), shape.micro_batches);
  Recorder recorder(exact, kShardedStreams);
  emit_fully_sharded(shape, recorder);

  const LayerCosts layers = price_layers(scenario);
  std::vector<TimelineBlock> blocks;
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const StageContent content = one_block(scenario.model, layer);
    blocks.push_back({content, layer, chunk_costs(layers, content)});
  }
  StageContent root{0, true, true, parts_of(scenario.model)};
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    --root.parts[part_of(scenario.model.kind_of(layer))];
  }
  blocks.push_back({root, 0, chunk_costs(layers, root)});

  const StageContent all = whole_model(scenario.model);
  const StageMemory full = stage_memory(scenario.model, scenario.plan, scenario.software, {all}, 1);
  // The root keeps nothing that the memory model counts as activations of layers, but passes as
  // they do, so all units together hold what one micro batch does.
  const double units = shape.units();
  const auto held = [&](std::uint32_t /*stage*/, std::int64_t held_units) {
    StageMemory memory = full;
    memory.activations = (real(held_units) / units) * full.activations;
    return point_of(memory, scenario);
  };
  return TimelineBuilder(recorder, sharded_piece, 1, std::move(blocks))
      .build(recorder, 1, scenario.software.host.fixed_per_iteration, held);
}

}  // namespace

std::int64_t timeline_passes(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const std::int64_t parts =
      is_fully_sharded(scenario) ? scenario.model.layers : plan.pp * plan.vpp;
  return plan.micro_batches() * parts;
}

std::int64_t most_timeline_gbs(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const std::int64_t parts = timeline_passes(scenario) / plan.micro_batches();
  const std::int64_t micro_batches = kMostTimelinePasses / parts / plan.pp * plan.pp;
  return micro_batches * plan.dp * plan.mbs;
}

Timeline timeline(const Scenario& scenario) {
  return is_fully_sharded(scenario) ? sharded_timeline(scenario) : pipeline_timeline(scenario);
}

}  // namespace prequel
