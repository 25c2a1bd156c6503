#include "sim/schedule/fully_sharded.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sim/engine/clock.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/schedule/emit.hpp"
#include "sim/schedule/ranks.hpp"

namespace prequel {
namespace {

constexpr Schedule kAny = Schedule::one_f_one_b;

PipelineShape sharded(std::uint32_t layers, std::uint32_t micro_batches, std::uint32_t prefetch = 1,
                      Gathers gathers = Gathers::each_pass) {
  PipelineShape shape;
  shape.chunks = layers + 1;
  shape.micro_batches = micro_batches;
  shape.prefetch = prefetch;
  shape.gathers = gathers;
  return shape;
}

BlockTable equal_layers(const PipelineShape& shape, double compute, double gather, double reduce) {
  BlockTable durations(shape);
  for (std::uint32_t layer = 0; layer + 1 < shape.chunks; ++layer) {
    durations.at(TaskKind::parameter_gather, 0, layer) = gather;
    durations.at(TaskKind::backward_gather, 0, layer) = gather;
    durations.at(TaskKind::forward, 0, layer) = compute;
    durations.at(TaskKind::backward, 0, layer) = 2 * compute;
    durations.at(TaskKind::gradient_reduce, 0, layer) = reduce;
  }
  return durations;
}

double seconds_of(const PipelineShape& shape, const BlockTable& durations) {
  return run_clock(kAny, shape, durations).seconds;
}

/// Sum over a stream.
double busy_of(const PipelineShape& shape, const BlockTable& durations, StageStream stream) {
  Clock clock(durations.values(), stream_count(shape));
  emit_fully_sharded(shape, clock);
  return clock.busy(stream_of(stream, 0));
}

TEST_CASE("compute hides all but the first gather and the last reduction when it is slower") {
  const auto shape = sharded(10, 1);
  const auto durations = equal_layers(shape, 4, 1, 2);
  // The backward's first gather finds no head to hide behind.
  CHECK(seconds_of(shape, durations) == 1 + 10 * 4 + 1 + 10 * 8 + 2);
  CHECK(busy_of(shape, durations, StageStream::compute) == 120);
  CHECK(busy_of(shape, durations, StageStream::communication) == 40);
}

TEST_CASE("communication sets the pace when it is slower, and is paid in every micro batch") {
  const auto shape = sharded(10, 3);
  // Forward: gathers, then the last layer. Backward: gathers and reductions, one stream.
  const double forward = 10 * 4 + 1;
  const double backward = 10 * 4 + 10 * 5;
  CHECK(seconds_of(shape, equal_layers(shape, 1, 4, 5)) == 3 * (forward + backward));
}

TEST_CASE("without prefetch nothing hides a gather") {
  const auto shape = sharded(10, 1, 0);
  CHECK(seconds_of(shape, equal_layers(shape, 4, 1, 0)) == 10 * (1 + 4) + 10 * (1 + 8));
}

TEST_CASE("parameters kept after the forward are not gathered again") {
  const auto shape = sharded(10, 1, 1, Gathers::each_micro_batch);
  const auto durations = equal_layers(shape, 4, 1, 2);
  CHECK(seconds_of(shape, durations) == 1 + 10 * 4 + 10 * 8 + 2);
  CHECK(busy_of(shape, durations, StageStream::communication) == 30);
}

TEST_CASE("the root is gathered before all and reduced after all, then the optimizer runs") {
  const auto shape = sharded(10, 2);
  auto durations = equal_layers(shape, 4, 1, 2);
  const std::uint32_t root = 10;
  durations.at(TaskKind::parameter_gather, 0, root) = 7;
  durations.at(TaskKind::forward, 0, root) = 3;
  durations.at(TaskKind::backward, 0, root) = 6;
  durations.at(TaskKind::gradient_reduce, 0, root) = 11;
  durations.at(TaskKind::optimizer, 0) = 5;
  const double batch = 7 + 1 + 10 * 4 + 3 + 6 + 10 * 8 + 2 + 11;
  CHECK(seconds_of(shape, durations) == 2 * batch + 5);
}

TEST_CASE("stages that gather their parts in every micro batch pay for what nothing hides") {
  // Two stages of four parts. As long as passes take longer than gathers, each pass shows the
  // first one; the step ends with the last reduction.
  PipelineShape shape{2, 6};
  shape.buckets = 4;
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    durations.at(TaskKind::forward_bucket, stage) = 4;
    durations.at(TaskKind::backward_bucket, stage) = 8;
    durations.at(TaskKind::parameter_gather, stage) = 1;
    durations.at(TaskKind::backward_gather, stage) = 1;
    durations.at(TaskKind::gradient_reduce, stage) = 2;
  }
  shape.gathers = Gathers::each_pass;
  const double pass = 4 * 4 + 1 + 4 * 8 + 1;
  CHECK(seconds_of(shape, durations) >= (6 + 1) * pass);
  CHECK(seconds_of(shape, durations) <= (6 + 1) * pass + 6 * 2 + 2);
  const double each_pass = seconds_of(shape, durations);
  shape.gathers = Gathers::each_micro_batch;
  CHECK(seconds_of(shape, durations) < each_pass);
}

TEST_CASE("clock, lanes and event queue agree on 1000 random sharded plans") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> duration(0, 1e-3);
  const auto between = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int plan = 0; plan < 1000; ++plan) {
    CAPTURE(plan);
    const auto shape = sharded(between(1, 20), between(1, 20), between(0, 4),
                               between(0, 1) == 1 ? Gathers::each_pass : Gathers::each_micro_batch);
    BlockTable durations(shape);
    for (const TaskTraits& task : kTasks) {
      for (std::uint32_t unit = 0; unit < shape.chunks; ++unit) {
        durations.at(task.kind, 0, unit) = duration(random);
      }
    }
    const auto exact = exact_durations(durations.values(), shape.most_runs());
    const auto times = run_events(build_graph(kAny, shape), exact);
    REQUIRE(times.stuck.empty());
    const double seconds = seconds_of(shape, durations);
    REQUIRE(seconds == doctest::Approx(times.end()).epsilon(1e-9));
    const double lanes = run_ranks(kAny, shape, durations, {2, 2, {{2}}}, {}).front();
    REQUIRE(seconds == doctest::Approx(lanes).epsilon(1e-9));
  }
}

TEST_CASE("fully sharded replicas go at the pace of a slow rank once they wait for it") {
  const auto shape = sharded(10, 2);
  const auto durations = equal_layers(shape, 4, 1, 2);
  RankSlowness slowness;
  slowness.compute = {1, 1, 1, 2};
  const double usual = seconds_of(shape, durations);
  const double slow = run_ranks(kAny, shape, durations, {2, 2, {{1}}}, slowness).front();
  CHECK(slow > 1.8 * usual);
  CHECK(slow <= 2 * usual);
}

}  // namespace
}  // namespace prequel
