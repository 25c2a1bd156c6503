// Passes whose exchange runs beside another micro batch. That all readers agree on them is held
// with the random plans of agreement_test.cpp.

#include "sim/schedule/beside.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sim/schedule/schedule.hpp"
#include "tests/engine/most_in_flight.hpp"

namespace prequel {
namespace {

BlockTable alike_passes(const PipelineShape& shape, PassParts forward, PassParts backward) {
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      set_passes(durations, stage, chunk, forward, backward);
      durations.at(TaskKind::input_gradient, stage, chunk) = backward.alone() / 2;
      durations.at(TaskKind::weight_gradient, stage, chunk) = backward.alone() / 2;
    }
  }
  return durations;
}

double paired_seconds(Schedule kind, PipelineShape shape, Exchanges exchanges,
                      const BlockTable& durations) {
  shape.exchanges = exchanges;
  return run_clock(kind, shape, durations).seconds;
}

constexpr PassParts kForward{4, 3};
constexpr PassParts kBackward{8, 3};

TEST_CASE("one stage hides exchanges in all pairs of micro batches, (m - 1) of m") {
  for (const std::uint32_t m : {1U, 2U, 7U, 1000U}) {
    const PipelineShape shape{1, m};
    const auto durations = alike_passes(shape, kForward, kBackward);
    CHECK(paired_seconds(Schedule::one_f_one_b, shape, Exchanges::inside, durations) == m * 18);
    CHECK(paired_seconds(Schedule::one_f_one_b, shape, Exchanges::beside, durations) ==
          7 + (m - 1) * 12 + 11);
  }
}

TEST_CASE("a pair takes as long as the longer of what overlaps, in each of its halves") {
  const PipelineShape shape{1, 101};
  const auto pair = [&](PassParts forward, PassParts backward) {
    const auto durations = alike_passes(shape, forward, backward);
    const double all = paired_seconds(Schedule::one_f_one_b, shape, Exchanges::beside, durations);
    return (all - forward.alone() - backward.alone()) / 100;
  };
  CHECK(pair({4, 3}, {8, 3}) == 4 + 8);
  CHECK(pair({4, 3}, {8, 6}) == 6 + 8);
  CHECK(pair({4, 9}, {8, 3}) == 4 + 9);
  CHECK(pair({4, 9}, {8, 6}) == 6 + 9);
}

TEST_CASE("without anything to exchange, side by side is one after the other") {
  for (const std::uint32_t stages : {1U, 2U, 4U, 8U}) {
    for (const auto kind : {Schedule::one_f_one_b, Schedule::interleaved}) {
      const PipelineShape shape{stages, 5 * stages, kind == Schedule::interleaved ? 3U : 1U};
      const auto durations = alike_passes(shape, {4, 0}, {8, 0});
      CHECK(paired_seconds(kind, shape, Exchanges::beside, durations) ==
            paired_seconds(kind, shape, Exchanges::inside, durations));
    }
  }
  // DualPipe pairs the same passes with and without, whatever they take.
  std::mt19937 random(2);
  std::uniform_real_distribution<double> duration(0.5, 1.5);
  for (const auto kind : {Schedule::dualpipe, Schedule::dualpipe_v}) {
    for (int plan = 0; plan < 100; ++plan) {
      const PipelineShape shape{4, 30, 2};
      auto durations = alike_passes(shape, {1, 0}, {1, 0});
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
          set_passes(durations, stage, chunk, {duration(random), 0}, {duration(random), 0});
          durations.at(TaskKind::send_forward, stage, chunk) = 0.1 * duration(random);
        }
      }
      CHECK(paired_seconds(kind, shape, Exchanges::beside, durations) ==
            paired_seconds(kind, shape, Exchanges::inside, durations));
    }
  }
}

TEST_CASE("stages alike are never slower side by side, in every schedule") {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    for (int plan = 0; plan < 200; ++plan) {
      CAPTURE(plan);
      PipelineShape shape{4, 4 * (2 + static_cast<std::uint32_t>(random() % 8))};
      const bool two = schedule == Schedule::interleaved || traits(schedule).folded;
      shape.chunks = two ? 2 : chunks_of(schedule, 1);
      const PassParts forward{1 + uniform(random), uniform(random)};
      const PassParts backward{2 + uniform(random), uniform(random)};
      const auto free = alike_passes(shape, forward, backward);
      const double inside = paired_seconds(schedule, shape, Exchanges::inside, free);
      CHECK(paired_seconds(schedule, shape, Exchanges::beside, free) <= inside * (1 + 1e-9));
    }
  }
}

TEST_CASE("DualPipe-V's bubble counts pairs as they overlap: (p - 1)(F&B + B - 3W)") {
  for (const std::uint32_t stages : {2U, 4U, 8U}) {
    const std::uint32_t m = 4 * stages;
    const PipelineShape shape{stages, m, 2};
    BlockTable durations = alike_passes(shape, {3, 1}, {5, 2});
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
        durations.at(TaskKind::input_gradient, stage, chunk) = 4;
        durations.at(TaskKind::weight_gradient, stage, chunk) = 3;
      }
    }
    const double inside = paired_seconds(Schedule::dualpipe_v, shape, Exchanges::inside, durations);
    const double beside = paired_seconds(Schedule::dualpipe_v, shape, Exchanges::beside, durations);
    // F&B is 8 in place of 11, in each of the first device's pairs.
    CHECK(inside == 2 * m * 11 + (stages - 1) * (11 + 7 - 9));
    const double pairs = 2 * (m - 2 * stages + 1) + stages - 1;
    CHECK(inside - beside >= 3 * pairs);
  }
}

TEST_CASE("one more micro batch is held where a forward runs beside a backward") {
  PipelineShape shape{4, 16, 2};
  const auto inside = most_in_flight(Schedule::interleaved, shape);
  shape.exchanges = Exchanges::beside;
  const auto beside = most_in_flight(Schedule::interleaved, shape);
  for (std::size_t stage = 0; stage < 4; ++stage) CHECK(beside[stage] == inside[stage] + 1);
  PipelineShape one{1, 8};
  one.exchanges = Exchanges::beside;
  CHECK(most_in_flight(Schedule::one_f_one_b, one)[0] == 2);
}

}  // namespace
}  // namespace prequel
