#include "sim/engine/launch_ahead.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sim/engine/clock.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/task_graph.hpp"

namespace prequel {
namespace {

/// `kernels` of price 0 on stream 0, launched from stream 1 at price 1.
double launched_seconds(std::uint32_t kernels, double kernel, double launch) {
  const std::vector<double> durations{kernel, launch};
  const std::vector<StreamId> hosts{1};
  const std::vector<PriceId> launches{1};
  Clock clock(durations, 2);
  LaunchAhead<Clock> reader(clock, hosts, launches);
  for (std::uint32_t i = 0; i < kernels; ++i) reader.run(0, 0, {});
  return clock.finish(0);
}

TEST_CASE("kernels longer than their launches hide all launches but the first") {
  CHECK(launched_seconds(10, 3.0, 1.0) == 31.0);
}

TEST_CASE("kernels shorter than their launches wait for every launch") {
  CHECK(launched_seconds(10, 1.0, 3.0) == 31.0);
}

TEST_CASE("the host runs ahead during long kernels and so covers short ones") {
  const std::vector<double> durations{10.0, 1.0, 2.0};  // long, short, launch
  const std::vector<StreamId> hosts{1};
  const std::vector<PriceId> launches{2, 2};
  Clock clock(durations, 2);
  LaunchAhead<Clock> reader(clock, hosts, launches);
  reader.run(0, 0, {});
  for (int i = 0; i < 7; ++i) reader.run(0, 1, {});
  // The short ones' launches end at 4, 6, … 16; the long kernel at 12. The fifth, sixth and
  // seventh start at 16, 17 and 18, as the others end at 13, 14, 15 and 16.
  CHECK(clock.finish(0) == 19.0);
}

TEST_CASE("a task of many kernels starts with its launch, and the next one once that is over") {
  const std::vector<double> durations{1.0, 3.0};
  const std::vector<StreamId> hosts{1};
  const std::vector<PriceId> launches{1};
  Clock clock(durations, 2);
  LaunchAhead<Clock> reader(clock, hosts, launches, Launched::by_parts);
  for (int i = 0; i < 10; ++i) reader.run(0, 0, {});
  CHECK(clock.finish(0) == 28.0);  // nine launches before the last task
}

TEST_CASE("clock and event queue agree on tasks that are launched") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const std::vector<StreamId> hosts{2, 2};
  const std::vector<PriceId> launches{4, 4, 5, 5};
  for (int round = 0; round < 100; ++round) {
    std::vector<double> durations(6);
    for (double& each : durations) each = uniform(random);
    Clock clock(durations, 3);
    GraphBuilder builder(3);
    LaunchAhead<Clock> timed(clock, hosts, launches);
    LaunchAhead<GraphBuilder> stored(builder, hosts, launches);
    for (int task = 0; task < 50; ++task) {
      const StreamId stream = random() % 2;
      const PriceId price = random() % 4;
      timed.run(stream, price, {}, timed.last(1 - stream));
      stored.run(stream, price, {}, stored.last(1 - stream));
    }
    REQUIRE(run_events(builder.build(), durations).end() ==
            doctest::Approx(clock.end()).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace prequel
