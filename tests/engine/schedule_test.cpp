#include "sim/schedule/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

#include "sim/engine/event_queue.hpp"
#include "tests/engine/most_in_flight.hpp"

namespace prequel {
namespace {

BlockTable equal_stages(const PipelineShape& shape, double forward, double backward) {
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      durations.at(TaskKind::forward, stage, chunk) = forward;
      durations.at(TaskKind::backward, stage, chunk) = backward;
    }
  }
  return durations;
}

TEST_CASE("GPipe and 1F1B take (m + p - 1)(F + B) on equal stages") {
  for (const auto kind : {Schedule::gpipe, Schedule::one_f_one_b}) {
    for (std::uint32_t stages : {1, 2, 5, 12}) {
      for (std::uint32_t micro_batches : {1, 3, 12, 500}) {
        const PipelineShape shape{stages, micro_batches};
        const auto result = run_clock(kind, shape, equal_stages(shape, 1, 2));
        CAPTURE(stages);
        CAPTURE(micro_batches);
        CHECK(result.seconds == 3 * (micro_batches + stages - 1));
        CHECK(result.stages[0].busy == 3 * micro_batches);
      }
    }
  }
}

TEST_CASE("1F1B holds min(m, p - s) micro batches on stage s, GPipe all") {
  for (std::uint32_t micro_batches : {1, 3, 4, 100}) {
    const PipelineShape shape{4, micro_batches};
    const auto held = most_in_flight(Schedule::one_f_one_b, shape);
    const auto all = most_in_flight(Schedule::gpipe, shape);
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
      CHECK(held[stage] == std::min(micro_batches, 4 - stage));
      CHECK(all[stage] == micro_batches);
    }
  }
}

TEST_CASE("the step ends with reduction, tied embedding and optimizer of each stage") {
  const PipelineShape shape{2, 1};
  auto durations = equal_stages(shape, 1, 2);  // stage 1 ends at 4, stage 0 at 6
  durations.at(TaskKind::gradient_reduce, 0) = 10;
  durations.at(TaskKind::gradient_reduce, 1) = 1;
  durations.at(TaskKind::embedding_reduce, 0) = 3;
  durations.at(TaskKind::embedding_reduce, 1) = 3;
  durations.at(TaskKind::optimizer, 0) = 5;
  durations.at(TaskKind::optimizer, 1) = 7;
  const auto result = run_clock(Schedule::one_f_one_b, shape, durations);
  CHECK(result.stages[0].pipeline_end == 6);
  CHECK(result.stages[1].pipeline_end == 4);
  CHECK(result.stages[0].step_end == 6 + 10 + 3 + 5);
  CHECK(result.stages[1].step_end == 6 + 10 + 3 + 7);
  CHECK(result.seconds == 26);
}

TEST_CASE("a blocking send occupies the sender, an overlapped one delays only the receiver") {
  PipelineShape shape{2, 2, 1, Sends::blocking};
  auto durations = equal_stages(shape, 4, 4);
  durations.at(TaskKind::send_forward, 0) = 1;
  durations.at(TaskKind::send_backward, 1) = 1;
  // Stage 1: F at 5..9, B at 9..13, send ..14, F ..18, B ..22, send ..23; stage 0: B ..27.
  CHECK(run_clock(Schedule::one_f_one_b, shape, durations).seconds == 27);
  CHECK(run_clock(Schedule::one_f_one_b, shape, durations).stages[1].busy == 18);
  shape.sends = Sends::overlapped;
  CHECK(run_clock(Schedule::one_f_one_b, shape, durations).seconds == 26);
  CHECK(run_clock(Schedule::one_f_one_b, shape, durations).stages[1].busy == 16);
}

TEST_CASE("schedules are found by name") {
  CHECK(named<Schedule>("1f1b") == Schedule::one_f_one_b);
  CHECK(named<Schedule>("fastest") == std::nullopt);
  for (const Schedule schedule : all_of<Schedule>()) {
    CHECK(named<Schedule>(name(schedule)) == schedule);
  }
}

TEST_CASE("a shape that a schedule cannot run is refused with one that would do") {
  CHECK(shape_problem(Schedule::one_f_one_b, {4, 8, 2}) ==
        "schedule 1f1b has one chunk a stage, but vpp is 2; interleaved-1f1b has more");
  CHECK(shape_problem(Schedule::one_f_one_b, {4, 8, 1}).empty());
  CHECK(shape_problem(Schedule::interleaved, {4, 8, 2}).empty());
  CHECK(shape_problem(Schedule::interleaved, {4, 10, 2}) ==
        "schedule interleaved-1f1b needs micro batches in multiples of 4, but there are 10; "
        "12 would do");
  CHECK(shape_problem(Schedule::interleaved, {4, 8, 1}) ==
        "schedule interleaved-1f1b needs at least two chunks a stage, but vpp is 1; "
        "1f1b is the schedule without");
  CHECK(shape_problem(Schedule::dualpipe, {4, 8, 2}).empty());
  CHECK(shape_problem(Schedule::dualpipe, {4, 8, 4}) ==
        "schedule dualpipe has one chunk a stage, but vpp is 2; interleaved-1f1b has more");
  CHECK(shape_problem(Schedule::dualpipe, {3, 8, 2}) ==
        "schedule dualpipe needs an even number of stages, but pp is 3; 4 would do");
  CHECK(shape_problem(Schedule::dualpipe, {4, 7, 2}) ==
        "schedule dualpipe needs micro batches in multiples of 2, 8 or more, but there are 7; 8 "
        "would do");
}

TEST_CASE("interleaving divides the bubble of 1F1B by the number of chunks") {
  for (std::uint32_t stages : {2, 3, 8}) {
    for (std::uint32_t groups : {2, 3, 50}) {
      for (std::uint32_t chunks : {2, 3, 4}) {
        const PipelineShape shape{stages, groups * stages, chunks};
        const auto result = run_clock(Schedule::interleaved, shape, equal_stages(shape, 1, 2));
        CAPTURE(stages);
        CAPTURE(groups);
        CAPTURE(chunks);
        CHECK(result.seconds == 3 * (shape.micro_batches * chunks + stages - 1));
      }
    }
  }
}

TEST_CASE("interleaved 1F1B holds p·v + p - 1 - 2s chunks on stage s, if there are as many") {
  const auto held = most_in_flight(Schedule::interleaved, {4, 16, 3});
  CHECK(held == std::vector<double>{15, 13, 11, 9});
  const auto all = most_in_flight(Schedule::interleaved, {4, 4, 3});
  CHECK(all == std::vector<double>{12, 12, 11, 9});
}

BlockTable split_stages(const PipelineShape& shape, double forward, double input, double weight) {
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      durations.at(TaskKind::forward, stage, chunk) = forward;
      durations.at(TaskKind::backward, stage, chunk) = input + weight;
      durations.at(TaskKind::input_gradient, stage, chunk) = input;
      durations.at(TaskKind::weight_gradient, stage, chunk) = weight;
    }
  }
  return durations;
}

/// The longest time that a stage idles between its first task and its last, as Qi et al. count it.
double bubble(Schedule kind, const PipelineShape& shape, const BlockTable& durations) {
  const auto graph = build_graph(kind, shape);
  const auto times = run_events(graph, durations.values());
  double longest = 0;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    double first = times.end();
    double last = 0;
    double busy = 0;
    for (TaskId task = 0; task < graph.tasks().size(); ++task) {
      const auto& [stream, price, label] = graph.tasks()[task];
      const auto role = static_cast<TaskKind>(label.kind);
      if (stream != stream_of(StageStream::compute, stage) || role == TaskKind::optimizer) continue;
      const double duration = durations.values()[price];
      busy += duration;
      first = std::min(first, times.finish[task] - duration);
      last = std::max(last, times.finish[task]);
    }
    longest = std::max(longest, last - first - busy);
  }
  return longest;
}

TEST_CASE("ZB-H1 has the bubble (p - 1)(F + B - W), ZB-H2 (p - 1)(F + B - 2W)") {
  for (std::uint32_t stages : {1, 2, 4, 9}) {
    for (std::uint32_t micro_batches : {3 * stages, 100U}) {
      const PipelineShape shape{stages, micro_batches};
      CAPTURE(stages);
      CAPTURE(micro_batches);
      const double waits = stages - 1;
      for (const auto& times :
           {std::array{2.0, 2.0, 2.0}, std::array{4.0, 4.0, 3.0}, std::array{8.0, 9.0, 7.0}}) {
        const double f = times[0];
        const double b = times[1];
        const double w = times[2];
        CAPTURE(f);
        const auto durations = split_stages(shape, f, b, w);
        CHECK(bubble(Schedule::zb_h1, shape, durations) == waits * (f + b - w));
        CHECK(bubble(Schedule::zb_h2, shape, durations) == waits * (f + b - 2 * w));
      }
    }
  }
}

TEST_CASE("ZB-2p has no bubble, whatever its passes take, and the memory of ZB-H2") {
  for (std::uint32_t stages : {1, 2, 4, 8}) {
    const PipelineShape shape{stages, 3 * stages};
    for (const auto& times : {std::array{4.0, 4.0, 2.0}, std::array{8.0, 9.0, 7.0}}) {
      const auto durations = split_stages(shape, times[0], times[1], times[2]);
      CHECK(bubble(Schedule::zb_2p, shape, durations) == 0);
      CHECK(run_clock(Schedule::zb_2p, shape, durations).seconds <=
            run_clock(Schedule::zb_h2, shape, durations).seconds);
    }
    CHECK(most_in_flight(Schedule::zb_2p, shape) == most_in_flight(Schedule::zb_h2, shape));
  }
}

TEST_CASE("ZB-H2 is never slower than ZB-H1, with few micro batches either") {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> seconds(0.3, 1.8);
  for (int round = 0; round < 400; ++round) {
    const auto stages = static_cast<std::uint32_t>(1 + random() % 8);
    const PipelineShape shape{stages, static_cast<std::uint32_t>(1 + random() % (4 * stages))};
    CAPTURE(shape.stages);
    CAPTURE(shape.micro_batches);
    const auto durations = split_stages(shape, seconds(random), seconds(random), seconds(random));
    CHECK(run_clock(Schedule::zb_h2, shape, durations).seconds <=
          run_clock(Schedule::zb_h1, shape, durations).seconds * (1 + 1e-9));
  }
}

TEST_CASE("all stages hold p micro batches in ZB-H1 and 2p - 1 in ZB-H2") {
  CHECK(most_in_flight(Schedule::zb_h1, {4, 20}) == std::vector<double>{4, 4, 4, 4});
  CHECK(most_in_flight(Schedule::zb_h2, {4, 20}) == std::vector<double>{7, 7, 7, 7});
}

TEST_CASE("DualPipe has the bubble (p/2 - 1)(F + B + B - 3W)") {
  for (std::uint32_t stages : {2, 4, 8, 16}) {
    for (std::uint32_t micro_batches : {2 * stages, 2 * stages + 6, 100U}) {
      const PipelineShape shape{stages, micro_batches, 2};
      CAPTURE(stages);
      CAPTURE(micro_batches);
      const auto durations = split_stages(shape, 4, 4, 3);
      CHECK(run_clock(Schedule::dualpipe, shape, durations).seconds ==
            micro_batches * 11.0 + (stages / 2.0 - 1) * (4 + 7 + 7 - 3 * 3));
    }
  }
}

TEST_CASE("DualPipe holds p + 1 activations on every device") {
  CHECK(most_in_flight(Schedule::dualpipe, {4, 20, 2}) == std::vector<double>{5, 5, 5, 5});
}

TEST_CASE("DualPipe-V has the bubble (p - 1)(F + B + B - 3W) and holds 2p + 1 activations") {
  for (std::uint32_t stages : {1, 2, 4, 8}) {
    for (std::uint32_t micro_batches : {2 * stages, 2 * stages + 3, 100U}) {
      const PipelineShape shape{stages, micro_batches, 2};
      CAPTURE(stages);
      CAPTURE(micro_batches);
      const auto durations = split_stages(shape, 4, 4, 3);
      CHECK(run_clock(Schedule::dualpipe_v, shape, durations).seconds ==
            2 * micro_batches * 11.0 + (stages - 1.0) * (4 + 7 + 7 - 3 * 3));
    }
    const auto held = most_in_flight(Schedule::dualpipe_v, {stages, 100, 2});
    CHECK(std::ranges::max(held) == 2 * stages + 1);
  }
}

TEST_CASE("ZB-V has no bubble where F = B = W, and holds 2p activations of a chunk") {
  for (std::uint32_t stages : {1, 2, 3, 4, 9}) {
    for (std::uint32_t micro_batches : {2 * stages, 100U}) {
      const PipelineShape shape{stages, micro_batches, 2};
      CAPTURE(stages);
      CAPTURE(micro_batches);
      CHECK(bubble(Schedule::zb_v, shape, split_stages(shape, 1, 1, 1)) == 0);
      CHECK(std::ranges::max(most_in_flight(Schedule::zb_v, shape)) == 2 * stages);
    }
  }
}

TEST_CASE("V-half holds p activations of a chunk and few more, and has half the bubble of 1F1B") {
  for (std::uint32_t stages : {2, 3, 4, 5, 8, 9, 16}) {
    for (std::uint32_t micro_batches : {4 * stages, 100U}) {
      const PipelineShape shape{stages, micro_batches, 2};
      CAPTURE(stages);
      CAPTURE(micro_batches);
      // 1F1B holds 2p of a chunk, and its bubble is 6(p - 1) of their passes.
      const std::uint32_t even = stages % 2 == 0 ? 1 : 0;
      CHECK(std::ranges::max(most_in_flight(Schedule::v_half, shape)) == stages + 2 + even);
      const double idle = bubble(Schedule::v_half, shape, split_stages(shape, 1, 1, 1));
      CHECK(idle >= 3 * (stages - 1) - (even == 1 ? 0 : 1));
      CHECK(idle <= 3 * stages + 2 * even);
    }
  }
}

TEST_CASE("V-min holds a third of the activations of 1F1B and few more, and has a smaller bubble") {
  for (std::uint32_t stages : {2, 3, 4, 5, 6, 8, 9, 16}) {
    for (std::uint32_t micro_batches : {4 * stages, 100U}) {
      const PipelineShape shape{stages, micro_batches, 2};
      CAPTURE(stages);
      CAPTURE(micro_batches);
      // 1F1B holds 2p of a chunk, and its bubble is 6(p - 1) of their passes.
      const double held = std::ranges::max(most_in_flight(Schedule::v_min, shape));
      CHECK(held >= 2 * stages / 3.0);
      CHECK(held < 2 * stages / 3.0 + 3);
      const double idle = bubble(Schedule::v_min, shape, split_stages(shape, 1, 1, 1));
      CHECK(idle == 4 * stages - (stages % 3 == 0 ? 3 : 5));
    }
  }
}

TEST_CASE("the chunks of a V are the model folded in the middle") {
  for (const auto kind :
       {Schedule::dualpipe_v, Schedule::zb_v, Schedule::v_half, Schedule::v_min}) {
    const PipelineShape shape{4, 20, 2};
    CHECK(model_part(kind, shape, 0, 0) == 0);
    CHECK(model_part(kind, shape, 3, 0) == 3);
    CHECK(model_part(kind, shape, 3, 1) == 4);
    CHECK(model_part(kind, shape, 0, 1) == 7);
  }
}

TEST_CASE("interleaved groups may be larger than p, and the last one smaller") {
  for (std::uint32_t stages : {1, 2, 4, 8}) {
    for (std::uint32_t group : {stages, stages + 1, 2 * stages + 3}) {
      for (std::uint32_t micro_batches : {3 * group, 3 * group + stages}) {
        if (micro_batches % group != 0 && micro_batches % group < stages) continue;
        PipelineShape shape{stages, micro_batches, 3};
        shape.group = group;
        CAPTURE(stages);
        CAPTURE(group);
        CAPTURE(micro_batches);
        CHECK(shape_problem(Schedule::interleaved, shape).empty());
        // The bubble is that of groups of p; larger ones hold more.
        const auto result = run_clock(Schedule::interleaved, shape, equal_stages(shape, 1, 2));
        CHECK(result.seconds == 3 * (micro_batches * 3 + stages - 1));
        CHECK(most_in_flight(Schedule::interleaved, shape).front() ==
              2 * (stages - 1) + 2 * group + 1);
      }
    }
  }
}

TEST_CASE("groups that would leave the pipeline unfilled are refused") {
  PipelineShape shape{4, 8, 2};
  shape.group = 3;
  CHECK(shape_problem(Schedule::interleaved, shape) ==
        "schedule interleaved-1f1b needs groups of pp micro batches or more, but they are of 3; "
        "4 would do");
  shape.group = 6;
  CHECK(shape_problem(Schedule::interleaved, shape) ==
        "schedule interleaved-1f1b needs micro batches in groups of 6, of which the last may have "
        "pp 4 or more, but there are 8; 10 would do");
  shape.micro_batches = 10;
  CHECK(shape_problem(Schedule::interleaved, shape).empty());
}

TEST_CASE("a chunk may hold nothing, or an embedding alone") {
  // A layout of 2 stages with 2 chunks, E|t|t|L: micro batches pass the blocks 1, 4, 4, 2.
  const PipelineShape shape{2, 4, 2};
  BlockTable durations(shape);
  durations.at(TaskKind::forward, 0, 0) = 1;
  durations.at(TaskKind::forward, 1, 0) = 4;
  durations.at(TaskKind::forward, 0, 1) = 4;
  durations.at(TaskKind::forward, 1, 1) = 2;
  // Stage 0 waits for block 1 but once, then computes 5 a micro batch.
  const double all = run_clock(Schedule::interleaved, shape, durations).seconds;
  CHECK(all >= 4 * 6 + 1);
  durations.at(TaskKind::forward, 0, 0) = 0;
  const double empty = run_clock(Schedule::interleaved, shape, durations).seconds;
  CHECK(empty == all - 1);
}

TEST_CASE("DualPipe reduces gradients once both copies of a stage are done") {
  for (const std::uint32_t buckets : {0U, 3U}) {
    PipelineShape shape{4, 10, 2};
    shape.buckets = buckets;
    auto durations = split_stages(shape, 4, 4, 3);
    for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
      durations.at(TaskKind::backward_bucket, 3, chunk) = 50;  // the copies of stage 0
      durations.at(TaskKind::weight_gradient_bucket, 3, chunk) = 50;
      durations.at(TaskKind::weight_gradient, 3, chunk) = 50;
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        durations.at(TaskKind::gradient_reduce, stage, chunk) = 1;
      }
    }
    const auto graph = build_graph(Schedule::dualpipe, shape);
    const auto times = run_events(graph, durations.values());
    // When the reductions of each stage end, in order.
    std::vector<std::vector<double>> ends(shape.stages);
    for (TaskId task = 0; task < graph.tasks().size(); ++task) {
      const Label& label = graph.tasks()[task].label;
      if (static_cast<TaskKind>(label.kind) != TaskKind::gradient_reduce) continue;
      ends[label.stage].push_back(times.finish[task]);
    }
    CHECK(ends[0].size() == (buckets == 0 ? 1 : 2 * buckets));
    CHECK(ends[0] == ends[3]);
    CHECK(ends[1] == ends[2]);
    CHECK(ends[1].back() < ends[0].back());
  }
}

TEST_CASE("the chunks of DualPipe are the same parts of the model from both ends") {
  const PipelineShape shape{4, 20, chunks_of(Schedule::dualpipe, 1)};
  CHECK(model_part(Schedule::dualpipe, shape, 1, 0) == 1);
  CHECK(model_part(Schedule::dualpipe, shape, 1, 1) == 2);
  CHECK(model_part(Schedule::interleaved, {4, 20, 3}, 1, 2) == 9);
}

}  // namespace
}  // namespace prequel
