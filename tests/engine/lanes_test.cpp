#include "sim/engine/lanes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace prequel {
namespace {

std::vector<double> times_of(const Lanes& lanes, StreamId stream) {
  const auto times = lanes.finish(stream);
  return {times.begin(), times.end()};
}

TEST_CASE("a lane that waits for nobody ends by its own speed") {
  const std::vector<LaneTask> tasks{{2.0, 1, LaneSync::none, false}};
  const std::vector<double> slowness{1, 1.5, 1, 1};
  Lanes lanes(tasks, slowness, 1, 4, {2}, {});
  lanes.run(0, 0, {});
  CHECK(times_of(lanes, 0) == std::vector<double>{2, 3, 2, 2});
  CHECK(lanes.end() == 3);
}

TEST_CASE("a group goes at the speed of its slowest lane, other groups do not") {
  const std::vector<LaneTask> tasks{{2.0, 4, LaneSync::group, false}};
  const std::vector<double> slowness{1, 1.5, 1, 1};
  Lanes lanes(tasks, slowness, 1, 4, {2}, {});
  lanes.run(0, 0, {});
  CHECK(times_of(lanes, 0) == std::vector<double>{3, 3, 2, 2});
}

TEST_CASE("a wide group waits for its slowest lane, whatever groups it consists of") {
  // Two pairs of parts of 1 s: lanes 0 to 3 exchange, in groups of 2 or of 4 or beyond them.
  const std::vector<LaneTask> tasks{{4.0, 4, LaneSync::group, false, 4, 4}};
  const std::vector<double> slowness{1, 1, 1.5, 1, 1, 1, 1, 1};
  for (const std::uint32_t group : {1U, 2U, 4U}) {
    Lanes lanes(tasks, slowness, 1, 8, {group, 4}, {});
    lanes.run(0, 0, {});
    CHECK(times_of(lanes, 0) == std::vector<double>{6, 6, 6, 6, 4, 4, 4, 4});
  }
  Lanes lanes(tasks, slowness, 1, 8, {8, 4}, {});
  lanes.run(0, 0, {});
  // The first part of a pair is waited for by all 8.
  CHECK(times_of(lanes, 0) == std::vector<double>{6, 6, 6, 6, 5.5, 5.5, 5.5, 5.5});
}

TEST_CASE("lanes that exchange start and end together") {
  const std::vector<LaneTask> tasks{{2.0, 1, LaneSync::none, false},
                                    {1.0, 1, LaneSync::wide, false}};
  const std::vector<double> slowness{1, 1.5, 1, 1};
  Lanes lanes(tasks, slowness, 1, 4, {1, 2}, {});
  lanes.run(0, 0, {});
  lanes.run(0, 1, {});
  CHECK(times_of(lanes, 0) == std::vector<double>{4.5, 4.5, 3, 3});
}

TEST_CASE("drawn loads never make a wide group faster, and the busiest gets what it should") {
  constexpr int kRuns = 4000;
  // 1 s for the mean load, and 2 s more for each time as much.
  const std::vector<LaneTask> tasks{{2.0, 2, LaneSync::group, false, 4, 2, 2.0}};
  for (const std::uint32_t wide : {2U, 8U, 64U}) {
    for (const double busiest : {1.0, 1.2, 1.5}) {
      CAPTURE(wide);
      CAPTURE(busiest);
      const std::vector<double> slowness(wide, 1.0);
      Lanes lanes(tasks, slowness, 1, wide, {1, wide}, {0, 1, busiest});
      double sum = 0;
      for (int run = 0; run < kRuns; ++run) {
        lanes.restart(static_cast<std::uint64_t>(run));
        lanes.run(0, 0, {});
        CHECK(lanes.end() >= 2);
        sum += lanes.end();
      }
      CHECK(sum / kRuns == doctest::Approx(2 + 2 * (busiest - 1)).epsilon(0.02));
    }
  }
}

TEST_CASE("across groups, each lane starts when the same lane of all groups is there") {
  const std::vector<LaneTask> tasks{{2.0, 1, LaneSync::none, false},
                                    {1.0, 1, LaneSync::across, false}};
  const std::vector<double> slowness{1, 1.5, 1, 1};
  Lanes lanes(tasks, slowness, 1, 4, {2}, {});
  lanes.run(0, 0, {});
  lanes.run(0, 1, {});
  CHECK(times_of(lanes, 0) == std::vector<double>{3, 4.5, 3, 4});
}

TEST_CASE("lanes of one task wait for the same lanes of another") {
  const std::vector<LaneTask> tasks{{2.0, 1, LaneSync::none, false}};
  const std::vector<double> slowness{1, 2, 3, 1};
  Lanes lanes(tasks, slowness, 2, 2, {}, {});
  lanes.run(1, 0, {}, lanes.run(0, 0, {}));
  CHECK(times_of(lanes, 0) == std::vector<double>{2, 4});
  CHECK(times_of(lanes, 1) == std::vector<double>{8, 6});
}

TEST_CASE("draws have mean 0 and standard deviation 1") {
  constexpr int kDraws = 100000;
  double sum = 0;
  double squares = 0;
  double largest = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = normal_draw(7, static_cast<std::uint64_t>(i));
    sum += draw;
    squares += draw * draw;
    largest = std::max(largest, std::abs(draw));
  }
  CHECK(std::abs(sum / kDraws) < 0.01);
  CHECK(squares / kDraws == doctest::Approx(1).epsilon(0.01));
  CHECK(largest <= 2 * std::sqrt(3.0));
}

TEST_CASE("draws of any number of kernels have standard deviation 1, and words of their own") {
  constexpr std::uint32_t kDraws = 20000;
  for (const std::uint32_t kernels : {1U, 3U, 4U, 5U, 31U}) {
    CAPTURE(kernels);
    double sum = 0;
    double squares = 0;
    double product = 0;
    double before = 0;
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      const double draw = normal_draw(7, std::uint64_t{i} * draw_words(kernels), kernels);
      sum += draw;
      squares += draw * draw;
      product += draw * std::exchange(before, draw);
    }
    CHECK(std::abs(sum / kDraws) < 0.03);
    CHECK(squares / kDraws == doctest::Approx(1).epsilon(0.03));
    CHECK(std::abs(product / kDraws) < 0.03);
  }
}

TEST_CASE("a restart with one seed repeats to the last bit, with another it differs") {
  const std::vector<LaneTask> tasks{{2.0, 3, LaneSync::group, true}};
  const std::vector<double> slowness(4, 1.0);
  Lanes lanes(tasks, slowness, 1, 4, {2}, {0.02, 1});
  lanes.run(0, 0, {});
  const auto first = times_of(lanes, 0);
  lanes.restart(2);
  lanes.run(0, 0, {});
  CHECK(times_of(lanes, 0) != first);
  lanes.restart(1);
  lanes.run(0, 0, {});
  CHECK(times_of(lanes, 0) == first);
}

}  // namespace
}  // namespace prequel
