#include "sim/schedule/fully_sharded.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sim/engine/clock.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/schedule/ranks.hpp"

namespace prequel {
namespace {

ShardedTable equal_layers(const ShardedShape& shape, double compute, double gather, double reduce) {
  ShardedTable durations(shape.units());
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    durations.at(ShardedTask::forward_gather, layer) = gather;
    durations.at(ShardedTask::backward_gather, layer) = gather;
    durations.at(ShardedTask::forward, layer) = compute;
    durations.at(ShardedTask::backward, layer) = 2 * compute;
    durations.at(ShardedTask::reduce_scatter, layer) = reduce;
  }
  return durations;
}

TEST_CASE("compute hides all but the first gather and the last reduction when it is slower") {
  const ShardedShape shape{10, 1};
  const auto result = run_clock(shape, equal_layers(shape, 4, 1, 2));
  // The backward's first gather finds no head to hide behind.
  CHECK(result.seconds == 1 + 10 * 4 + 1 + 10 * 8 + 2);
  CHECK(result.computing == 120);
  CHECK(result.communicating == 40);
}

TEST_CASE("communication sets the pace when it is slower, and is paid in every micro batch") {
  const ShardedShape shape{10, 3};
  const auto result = run_clock(shape, equal_layers(shape, 1, 4, 5));
  // Forward: gathers, then the last layer. Backward: gathers and reductions, one stream.
  const double forward = 10 * 4 + 1;
  const double backward = 10 * 4 + 10 * 5;
  CHECK(result.seconds == 3 * (forward + backward));
}

TEST_CASE("without prefetch nothing hides a gather") {
  const ShardedShape shape{10, 1, 0};
  CHECK(run_clock(shape, equal_layers(shape, 4, 1, 0)).seconds == 10 * (1 + 4) + 10 * (1 + 8));
}

TEST_CASE("parameters kept after the forward are not gathered again") {
  const ShardedShape shape{10, 1, 1, false};
  const auto result = run_clock(shape, equal_layers(shape, 4, 1, 2));
  CHECK(result.seconds == 1 + 10 * 4 + 10 * 8 + 2);
  CHECK(result.communicating == 30);
}

TEST_CASE("the root is gathered before all and reduced after all, then the optimizer runs") {
  const ShardedShape shape{10, 2};
  auto durations = equal_layers(shape, 4, 1, 2);
  durations.at(ShardedTask::forward_gather, shape.root()) = 7;
  durations.at(ShardedTask::forward, shape.root()) = 3;
  durations.at(ShardedTask::backward, shape.root()) = 6;
  durations.at(ShardedTask::reduce_scatter, shape.root()) = 11;
  durations.at(ShardedTask::optimizer, shape.root()) = 5;
  const double batch = 7 + 1 + 10 * 4 + 3 + 6 + 10 * 8 + 2 + 11;
  CHECK(run_clock(shape, durations).seconds == 2 * batch + 5);
}

TEST_CASE("clock, lanes and event queue agree on 1000 random sharded plans") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> duration(0, 1e-3);
  const auto between = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int plan = 0; plan < 1000; ++plan) {
    CAPTURE(plan);
    const ShardedShape shape{between(1, 20), between(1, 20), between(0, 4), between(0, 1) == 1};
    ShardedTable durations(shape.units());
    for (std::uint32_t kind = 0; kind < kShardedTasks; ++kind) {
      for (std::uint32_t unit = 0; unit < shape.units(); ++unit) {
        durations.at(static_cast<ShardedTask>(kind), unit) = duration(random);
      }
    }
    const auto exact = exact_durations(durations.values(), shape.micro_batches);
    const auto times = run_events(build_graph(shape), exact);
    REQUIRE(times.stuck.empty());
    const double seconds = run_clock(shape, durations).seconds;
    REQUIRE(seconds == doctest::Approx(times.end()).epsilon(1e-9));
    const double lanes = run_ranks(shape, durations, {2, 2, 2}, {}).front();
    REQUIRE(seconds == doctest::Approx(lanes).epsilon(1e-9));
  }
}

TEST_CASE("fully sharded replicas go at the pace of a slow rank once they wait for it") {
  const ShardedShape shape{10, 2};
  const auto durations = equal_layers(shape, 4, 1, 2);
  RankSlowness slowness;
  slowness.compute = {1, 1, 1, 2};
  const double usual = run_clock(shape, durations).seconds;
  const double slow = run_ranks(shape, durations, {2, 2, 1}, slowness).front();
  CHECK(slow > 1.8 * usual);
  CHECK(slow <= 2 * usual);
}

}  // namespace
}  // namespace prequel
