// That no step is shorter than its bound is held with the random plans of agreement_test.cpp.

#include "sim/schedule/least_time.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sim/engine/clock.hpp"
#include "sim/schedule/emit.hpp"

namespace prequel {
namespace {

/// Stages alike, with a forward of 1 s in all, a backward of 2 s, half of it weight gradients.
BlockTable alike(const PipelineShape& shape) {
  BlockTable durations(shape);
  const double share = 1.0 / shape.chunks;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      durations.at(TaskKind::forward, stage, chunk) = share;
      durations.at(TaskKind::backward, stage, chunk) = 2 * share;
      durations.at(TaskKind::input_gradient, stage, chunk) = share;
      durations.at(TaskKind::weight_gradient, stage, chunk) = share;
    }
    durations.at(TaskKind::gradient_reduce, stage) = 5;
    durations.at(TaskKind::optimizer, stage) = 0.5;
  }
  return durations;
}

TEST_CASE("of equal stages the bound of GPipe, 1F1B and interleaved 1F1B is the step itself") {
  for (const std::uint32_t stages : {1, 2, 4, 8}) {
    for (const std::uint32_t micro_batches : {8, 16, 64}) {
      for (const Schedule kind : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved}) {
        PipelineShape shape{stages, micro_batches};
        if (kind == Schedule::interleaved) shape.chunks = 2;
        const BlockTable durations = alike(shape);
        CHECK(least_seconds(kind, shape, durations) ==
              doctest::Approx(run_clock(kind, shape, durations).seconds).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("the bounds of the other schedules are within a tenth, once the pipeline is full") {
  for (const Schedule kind : {Schedule::zb_h1, Schedule::zb_h2, Schedule::dualpipe}) {
    const PipelineShape shape{8, 128, chunks_of(kind, 1)};
    BlockTable durations = alike(shape);
    const double seconds = run_clock(kind, shape, durations).seconds;
    const double least = least_seconds(kind, shape, durations);
    CHECK(least <= seconds);
    CHECK(least > 0.9 * seconds);
  }
}

TEST_CASE("fully sharded layers take as long as the busier of their streams, or longer") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> seconds(0, 1);
  std::uniform_int_distribution<std::uint32_t> count(1, 12);
  for (int round = 0; round < 1000; ++round) {
    PipelineShape shape;
    shape.micro_batches = count(random);
    shape.chunks = count(random) + 1;
    shape.prefetch = count(random) % 4;
    shape.gathers = round % 2 == 0 ? Gathers::each_pass : Gathers::each_micro_batch;
    BlockTable durations(shape);
    for (const TaskTraits& task : kTasks) {
      for (std::uint32_t unit = 0; unit < shape.chunks; ++unit) {
        durations.at(task.kind, 0, unit) = seconds(random);
      }
    }
    const double least = least_seconds(Schedule::one_f_one_b, shape, durations);
    const auto exact = exact_durations(durations.values(), shape.most_runs());
    Clock clock(exact, stream_count(shape));
    emit_fully_sharded(shape, clock);
    emit_step_end(Schedule::one_f_one_b, shape, clock);
    REQUIRE(least <= clock.end() * (1 + 1e-12));
    for (const StageStream stream : {StageStream::compute, StageStream::communication}) {
      REQUIRE(least >= clock.busy(stream_of(stream, 0)) * (1 - 1e-12));
    }
  }
}

}  // namespace
}  // namespace prequel
