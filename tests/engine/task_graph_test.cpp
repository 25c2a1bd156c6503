#include "sim/engine/task_graph.hpp"

#include <doctest/doctest.h>

#include "sim/schedule/schedule.hpp"

namespace prequel {
namespace {

std::vector<TaskId> successors(const TaskGraph& graph, TaskId task) {
  const auto ids = graph.successors(task);
  return {ids.begin(), ids.end()};
}

TEST_CASE("a task waits for the one before it on its stream and for its tokens, each once") {
  GraphBuilder builder(2);
  const auto a = builder.run(0, 7, {1, 2, 3, 4});
  const auto b = builder.run(1, 8, {});
  const auto c = builder.run(0, 9, {}, a, b);
  builder.run(1, 9, {}, GraphBuilder::Token{}, c);
  const TaskGraph graph = builder.build();

  CHECK(successors(graph, 0) == std::vector<TaskId>{2});
  CHECK(successors(graph, 1) == std::vector<TaskId>{2, 3});
  CHECK(successors(graph, 2) == std::vector<TaskId>{3});
  CHECK(successors(graph, 3).empty());
  CHECK(graph.predecessor_counts() == std::vector<std::uint32_t>{0, 0, 2, 2});
  CHECK(graph.tasks()[0].price == 7);
  CHECK(graph.tasks()[0].label == Label{1, 2, 3, 4});
}

TEST_CASE("a stored pipeline takes at most 32 bytes a task") {
  const PipelineShape shape{12, 128};
  const TaskGraph graph = build_graph(Schedule::one_f_one_b, shape);
  CHECK(graph.tasks().size() == 2 * 12 * 128 + 2 * 11 * 128 + 12 + 2 + 12);
  CHECK(graph.memory_bytes() <= 32 * graph.tasks().size());
}

}  // namespace
}  // namespace prequel
