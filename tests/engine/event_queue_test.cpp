#include "sim/engine/event_queue.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

TEST_CASE("tasks run as soon as all they wait for is done") {
  GraphBuilder builder(2);
  const auto a = builder.run(0, 0, {});
  builder.run(1, 1, {});
  builder.run(1, 0, {}, a);
  const auto times = run_events(builder.build(), std::vector{1.0, 4.0});
  CHECK(times.finish == std::vector{1.0, 4.0, 5.0});
  CHECK(times.end() == 5.0);
  CHECK(times.stuck.empty());
}

TEST_CASE("tasks that wait for one another are named as stuck, and all behind them") {
  const std::vector<Task> tasks(4);
  const std::vector<TaskOrder> orders{{2, 1}, {1, 2}, {2, 3}};
  const auto times = run_events(TaskGraph(tasks, orders), std::vector{1.0});
  CHECK(times.stuck == std::vector<TaskId>{1, 2, 3});
  CHECK(times.finish[0] == 1.0);
}

TEST_CASE("no tasks take no time") {
  CHECK(run_events(GraphBuilder(1).build(), {}).end() == 0);
}

}  // namespace
}  // namespace prequel
