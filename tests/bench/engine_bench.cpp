// The engine's readers on schedules whose prices are known. An item is a task.

#include <benchmark/benchmark.h>

#include <random>

#include "sim/engine/clock.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {
namespace {

/// Stages as those of a real job: much alike, the first and last heavier, sends not free.
BlockTable uneven_durations(const PipelineShape& shape) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> noise(0.999, 1.001);
  BlockTable table(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const bool end = stage == 0 || stage + 1 == shape.stages;
    table.at(TaskKind::forward, stage) = (end ? 0.16 : 0.15) * noise(random);
    table.at(TaskKind::backward, stage) = (end ? 0.48 : 0.45) * noise(random);
    table.at(TaskKind::input_gradient, stage) = table.at(TaskKind::backward, stage) * 2 / 3;
    table.at(TaskKind::weight_gradient, stage) = table.at(TaskKind::backward, stage) / 3;
    table.at(TaskKind::send_forward, stage) = 0.002;
    table.at(TaskKind::send_backward, stage) = 0.002;
    table.at(TaskKind::gradient_reduce, stage) = 1.5 * noise(random);
    table.at(TaskKind::optimizer, stage) = 0.02 * noise(random);
  }
  if (shape.chunks == 2) {  // the same stages from the other end
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      for (std::uint32_t kind = 0; kind <= static_cast<std::uint32_t>(TaskKind::send_backward);
           ++kind) {
        const auto task = static_cast<TaskKind>(kind);
        table.at(task, stage, 1) = table.at(task, shape.stages - 1 - stage);
      }
    }
  }
  return table;
}

void set_items(benchmark::State& state, std::size_t items) {
  state.SetItemsProcessed(static_cast<std::int64_t>(items) * state.iterations());
}

/// From the prices of a plan to its times, as a search does it for each plan.
void clock_of(benchmark::State& state, Schedule kind, std::uint32_t stages,
              std::uint32_t micro_batches) {
  const PipelineShape shape{stages, micro_batches, chunks_of(kind, 1)};
  const auto durations = uneven_durations(shape);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(run_clock(kind, shape, durations));
  }
  set_items(state, build_graph(kind, shape).tasks().size());
}
BENCHMARK_CAPTURE(clock_of, 1f1b, Schedule::one_f_one_b, 12, 128)->Name("clock/12x128");
BENCHMARK_CAPTURE(clock_of, 1f1b, Schedule::one_f_one_b, 12, 4096)->Name("clock/12x4096");
// No dearer than the last: the pipeline has long been periodic.
BENCHMARK_CAPTURE(clock_of, 1f1b, Schedule::one_f_one_b, 12, 32768)->Name("clock/12x32768");
BENCHMARK_CAPTURE(clock_of, gpipe, Schedule::gpipe, 12, 128)->Name("clock/gpipe/12x128");
BENCHMARK_CAPTURE(clock_of, gpipe, Schedule::gpipe, 12, 4096)->Name("clock/gpipe/12x4096");
BENCHMARK_CAPTURE(clock_of, dualpipe, Schedule::dualpipe, 12, 128)->Name("clock/dualpipe/12x128");
BENCHMARK_CAPTURE(clock_of, dualpipe, Schedule::dualpipe, 12, 4096)->Name("clock/dualpipe/12x4096");

/// 384 streams: four on each of 96 stages.
void events(benchmark::State& state) {
  const PipelineShape shape{96, 1024};
  const auto durations = uneven_durations(shape);
  const auto graph = build_graph(Schedule::one_f_one_b, shape);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(run_events(graph, durations.values()));
  }
  set_items(state, graph.tasks().size());
  state.counters["bytes_per_task"] =
      static_cast<double>(graph.memory_bytes()) / static_cast<double>(graph.tasks().size());
}
BENCHMARK(events)->Name("events/384")->Unit(benchmark::kMillisecond);

void build(benchmark::State& state) {
  const PipelineShape shape{96, 1024};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(build_graph(Schedule::one_f_one_b, shape));
  }
  set_items(state, build_graph(Schedule::one_f_one_b, shape).tasks().size());
}
BENCHMARK(build)->Name("build_graph/384")->Unit(benchmark::kMillisecond);

/// Every rank with jitter in each kernel. An item is a kernel of a rank; a tensor-parallel group
/// synchronises twice a layer.
void lanes(benchmark::State& state, std::uint32_t stages, std::uint32_t micro_batches,
           StageRanks ranks) {
  const PipelineShape shape{stages, micro_batches};
  const auto durations = uneven_durations(shape);
  const Jitter jitter{0.02, 1};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(run_ranks(Schedule::one_f_one_b, shape, durations, ranks, {}, jitter));
  }
  set_items(state, std::size_t{2} * stages * micro_batches * ranks.count() *
                       ranks.meetings.front().all * ranks.kernels);
}
// 70 layers on 12 stages, about six each; 4 replicas of 8 ranks.
BENCHMARK_CAPTURE(lanes, 176b_384, 12, 128, (StageRanks{8, 4, {{12}}, 31}))
    ->Name("lanes/176b_384")
    ->Unit(benchmark::kMillisecond);
// 126 layers on 16 stages, eight each; 16 micro batches on 128 replicas of 8 ranks.
BENCHMARK_CAPTURE(lanes, 405b_16384, 16, 16, (StageRanks{8, 128, {{16}}, 24}))
    ->Name("lanes/405b_16384")
    ->Unit(benchmark::kMillisecond);
// 61 layers with experts on 16 stages, four each; 16 micro batches on 1,024 ranks, of which 64
// exchange tokens. 24 kernels between two synchronisations.
BENCHMARK_CAPTURE(lanes, moe_16384, 16, 16, (StageRanks{1, 1024, {{8, 8}}, 24, 64}))
    ->Name("lanes/moe_16384")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
