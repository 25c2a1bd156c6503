#include "sim/schedule/ranks.hpp"

#include <doctest/doctest.h>

#include <random>

namespace prequel {
namespace {

PipelineShape valid_shape(Schedule kind, std::mt19937& random) {
  const auto between = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  PipelineShape shape{2 * between(1, 4), 0, chunks_of(kind, 1), Sends::overlapped};
  if (kind == Schedule::interleaved || traits(kind).folded) shape.chunks = 2;
  shape.micro_batches = shape.stages * between(2, 4);
  if (between(0, 1) == 0) shape.sends = Sends::blocking;
  return shape;
}

BlockTable random_durations(const PipelineShape& shape, std::mt19937& random) {
  BlockTable table(shape);
  for (std::uint32_t kind = 0; kind < kTaskKinds; ++kind) {
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
        table.at(static_cast<TaskKind>(kind), stage, chunk) =
            std::uniform_real_distribution(0.5, 1.5)(random);
      }
    }
  }
  return table;
}

TEST_CASE("with all ranks alike, lanes agree with the clock on 1000 plans of all schedules") {
  std::mt19937 random(3);
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    for (int plan = 0; plan < 170; ++plan) {
      const auto shape = valid_shape(schedule, random);
      const auto durations = random_durations(shape, random);
      const auto seconds = run_ranks(schedule, shape, durations, {2, 3, 5}, {});
      REQUIRE(seconds[0] ==
              doctest::Approx(run_clock(schedule, shape, durations).seconds).epsilon(1e-9));
    }
  }
}

TEST_CASE("one slow rank slows its whole stage in the time of a step") {
  // One stage: m (F + B) of the slow rank's group, for which the other replicas wait in the end.
  const PipelineShape shape{1, 10};
  BlockTable durations(shape);
  durations.at(TaskKind::forward, 0) = 1;
  durations.at(TaskKind::backward, 0) = 2;
  durations.at(TaskKind::gradient_reduce, 0) = 5;
  RankSlowness slowness;
  slowness.compute = {1, 1, 1, 1.25};
  const auto seconds = run_ranks(Schedule::one_f_one_b, shape, durations, {2, 2, 4}, slowness);
  CHECK(seconds[0] == doctest::Approx(1.25 * 30 + 5).epsilon(1e-12));
}

TEST_CASE("a slower rank or link never makes the step faster") {
  std::mt19937 random(4);
  const StageRanks ranks{2, 2, 3};
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    for (int plan = 0; plan < 50; ++plan) {
      const auto shape = valid_shape(schedule, random);
      const auto durations = random_durations(shape, random);
      const std::size_t count = std::size_t{shape.stages} * ranks.count();
      RankSlowness slowness{std::vector<double>(count, 1.0), std::vector<double>(count, 1.0)};
      const double before = run_ranks(schedule, shape, durations, ranks, slowness)[0];
      slowness.compute[random() % count] = 1.5;
      const double slow_rank = run_ranks(schedule, shape, durations, ranks, slowness)[0];
      slowness.sends[random() % count] = 2;
      const double slow_link = run_ranks(schedule, shape, durations, ranks, slowness)[0];
      CHECK(slow_rank >= before);
      CHECK(slow_link >= slow_rank);
    }
  }
}

TEST_CASE("jitter slows the step on average, as groups wait for their slowest rank") {
  const PipelineShape shape{4, 16};
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    durations.at(TaskKind::forward, stage) = 1;
    durations.at(TaskKind::backward, stage) = 2;
  }
  const auto kind = Schedule::one_f_one_b;
  const double without = run_clock(kind, shape, durations).seconds;
  for (const double seconds : run_ranks(kind, shape, durations, {8, 4, 6}, {}, {0.02, 1}, 20)) {
    CHECK(seconds > without);
    CHECK(seconds < 1.1 * without);
  }
}

TEST_CASE(
    "many waves on many lanes, which are forgotten on the way, take as long as by the clock") {
  const PipelineShape shape{4, 2000};
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    durations.at(TaskKind::forward, stage) = 1e-3 * (1 + 0.1 * stage);
    durations.at(TaskKind::backward, stage) = 2e-3;
    durations.at(TaskKind::send_forward, stage) = 1e-4;
    durations.at(TaskKind::send_backward, stage) = 1e-4;
  }
  CHECK(run_ranks(Schedule::one_f_one_b, shape, durations, {8, 8, 1}, {}).front() ==
        doctest::Approx(run_clock(Schedule::one_f_one_b, shape, durations).seconds).epsilon(1e-9));
}

}  // namespace
}  // namespace prequel
