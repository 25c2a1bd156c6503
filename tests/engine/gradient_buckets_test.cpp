// Data-parallel communication that overlaps with the passes.

#include <doctest/doctest.h>

#include "sim/engine/event_queue.hpp"
#include "sim/schedule/schedule.hpp"
#include "tests/engine/most_in_flight.hpp"

namespace prequel {
namespace {

constexpr double kForwardSeconds = 8;
constexpr double kBackwardSeconds = 16;

/// One stage with 4 buckets, an optimizer of 1 s, and so much for each bucket.
double seconds(std::uint32_t micro_batches, double reduce, double gather,
               std::uint32_t prefetch = 1) {
  PipelineShape shape{1, micro_batches};
  shape.prefetch = prefetch;
  shape.buckets = 4;
  shape.gathers = gather > 0 ? Gathers::once : Gathers::never;
  BlockTable table(shape);
  table.at(TaskKind::forward, 0) = kForwardSeconds;
  table.at(TaskKind::forward_bucket, 0) = kForwardSeconds / 4;
  table.at(TaskKind::backward, 0) = kBackwardSeconds;
  table.at(TaskKind::backward_bucket, 0) = kBackwardSeconds / 4;
  table.at(TaskKind::gradient_reduce, 0) = reduce;
  table.at(TaskKind::parameter_gather, 0) = gather;
  table.at(TaskKind::optimizer, 0) = 1;
  return run_clock(Schedule::one_f_one_b, shape, table).seconds;
}

TEST_CASE("reduction faster than the backward shows its last bucket only") {
  for (const std::uint32_t m : {1U, 2U, 50U}) {
    CHECK(seconds(m, 3, 0) == m * (kForwardSeconds + kBackwardSeconds) + 3 + 1);
  }
}

TEST_CASE("reduction slower than the backward shows all but what follows the first bucket") {
  for (const std::uint32_t m : {1U, 2U, 50U}) {
    CHECK(seconds(m, 10, 0) ==
          m * (kForwardSeconds + kBackwardSeconds) - kBackwardSeconds * 3 / 4 + 4 * 10 + 1);
  }
}

TEST_CASE("gathers faster than the forward show their first, slower ones all but the last part") {
  for (const std::uint32_t m : {1U, 2U, 50U}) {
    CHECK(seconds(m, 3, 1) == 1 + m * (kForwardSeconds + kBackwardSeconds) + 3 + 1);
    CHECK(seconds(m, 3, 5) ==
          4 * 5 - kForwardSeconds * 3 / 4 + m * (kForwardSeconds + kBackwardSeconds) + 3 + 1);
  }
}

TEST_CASE("gathers that nothing is gathered ahead of show whole") {
  for (const double gather : {1.0, 5.0}) {
    CHECK(seconds(3, 3, gather, 0) ==
          4 * gather + 3 * (kForwardSeconds + kBackwardSeconds) + 3 + 1);
  }
}

TEST_CASE("each block has one reduction and one gather a bucket, in every schedule") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    PipelineShape shape{4, 12, chunks_of(schedule, 1)};
    if (schedule == Schedule::interleaved || traits(schedule).folded) shape.chunks = 2;
    shape.buckets = 3;
    shape.gathers = Gathers::once;
    std::vector<std::uint32_t> tasks(kTaskKinds);
    const auto graph = build_graph(schedule, shape);
    for (const Task& task : graph.tasks()) ++tasks[task.label.kind];
    const auto count = [&](TaskKind kind) { return tasks[static_cast<std::size_t>(kind)]; };
    CHECK(count(TaskKind::gradient_reduce) == 3 * shape.blocks());
    CHECK(count(TaskKind::parameter_gather) == 3 * shape.blocks());
    CHECK(count(TaskKind::forward_bucket) == 3 * shape.blocks());
    CHECK(count(TaskKind::backward_bucket) + count(TaskKind::weight_gradient_bucket) ==
          3 * shape.blocks());
  }
}

TEST_CASE("what a stage holds is the same with buckets") {
  for (const Schedule schedule : all_of<Schedule>()) {
    PipelineShape shape{4, 12, chunks_of(schedule, 1)};
    if (schedule == Schedule::interleaved || traits(schedule).folded) shape.chunks = 2;
    const auto held = most_in_flight(schedule, shape);
    shape.buckets = 3;
    CHECK(most_in_flight(schedule, shape) == held);
  }
}

/// Equal stages of v chunks, interleaved, whose gradients are one bucket a chunk.
ScheduleResult in_chunks(std::uint32_t stages, std::uint32_t chunks, double reduce, double gather) {
  PipelineShape shape{stages, 4 * stages, chunks};
  shape.buckets = 1;
  shape.gathers = gather > 0 ? Gathers::once : Gathers::never;
  BlockTable table(shape);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      table.at(TaskKind::forward, stage, chunk) = kForwardSeconds;
      table.at(TaskKind::forward_bucket, stage, chunk) = kForwardSeconds;
      table.at(TaskKind::backward, stage, chunk) = kBackwardSeconds;
      table.at(TaskKind::backward_bucket, stage, chunk) = kBackwardSeconds;
      table.at(TaskKind::gradient_reduce, stage, chunk) = reduce;
      table.at(TaskKind::parameter_gather, stage, chunk) = gather;
    }
  }
  return run_clock(Schedule::interleaved, shape, table);
}

TEST_CASE("chunks reduce their gradients over a window of (v - 1)/v of p micro batches") {
  for (const std::uint32_t stages : {1U, 2U, 4U}) {
    for (const std::uint32_t chunks : {2U, 3U, 5U}) {
      CAPTURE(stages);
      CAPTURE(chunks);
      const double window =
          stages * kBackwardSeconds;  // from a chunk's last backward to the next one's
      const auto exposed = [&](double reduce) {
        const StageTimes last = in_chunks(stages, chunks, reduce, 0).stages.back();
        return last.buckets_end - last.pipeline_end;
      };
      CHECK(exposed(window / 2) == window / 2);
      CHECK(exposed(window) == window);
      CHECK(exposed(window + 1) == chunks * (window + 1) - (chunks - 1) * window);
      CHECK(exposed(3 * window) == chunks * 3 * window - (chunks - 1) * window);
    }
  }
}

TEST_CASE("chunks gather their parameters while those before pass the first p micro batches") {
  for (const std::uint32_t stages : {1U, 2U, 4U}) {
    for (const std::uint32_t chunks : {2U, 3U, 5U}) {
      CAPTURE(stages);
      CAPTURE(chunks);
      const double window = stages * kForwardSeconds;
      const double without = in_chunks(stages, chunks, 1, 0).seconds;
      CHECK(in_chunks(stages, chunks, 1, window / 2).seconds == without + window / 2);
      CHECK(in_chunks(stages, chunks, 1, window).seconds == without + window);
    }
  }
}

}  // namespace
}  // namespace prequel
