#include "sim/schedule/ranks.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <random>
#include <utility>

#include "sim/engine/event_queue.hpp"
#include "sim/schedule/emit.hpp"

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
      const auto seconds = run_ranks(schedule, shape, durations, {2, 3, {{5}}}, {});
      REQUIRE(seconds[0] ==
              doctest::Approx(run_clock(schedule, shape, durations).seconds).epsilon(1e-9));
    }
  }
}

/// The reader that makes a task of every part that every rank runs, and of where groups wait for
/// one another: the event queue then plays what lanes do.
class RankGraph {
 public:
  struct Token {
    std::size_t first = kNothing;  ///< of `ends_`, one a rank
  };

  RankGraph(const PipelineShape& shape, const BlockTable& durations, const StageRanks& ranks,
            const RankSlowness& slowness)
      : shape_(shape),
        durations_(durations),
        ranks_(ranks),
        slowness_(slowness),
        last_(stream_count(shape)),
        now_(ranks.count()) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    start({last_[stream], after...});
    const TaskTraits& task = traits(static_cast<TaskKind>(label.kind));
    const double seconds = durations_.values()[price];
    if (task.sync == LaneSync::across) meet(ranks_.count(), ranks_.tensor_parallel);
    if (task.sync == LaneSync::wide) meet(ranks_.expert_parallel);
    if (task.is_pass()) {
      const std::size_t block = label.chunk * shape_.stages + label.stage;
      const auto [all, exchanges] = ranks_.meetings[block % ranks_.meetings.size()];
      for (std::uint32_t part = 0; part < all; ++part) {
        work(stream, seconds / all);
        const bool in_exchange = part >= all - exchanges;
        const bool combines = in_exchange && (part - (all - exchanges)) % 2 == 1;
        if (!combines) meet(ranks_.tensor_parallel);
        if (in_exchange) meet(ranks_.expert_parallel);
      }
    } else {
      work(stream, seconds);
    }
    if (task.sync == LaneSync::wide) meet(ranks_.expert_parallel);
    last_[stream] = {ends_.size()};
    ends_.insert(ends_.end(), now_.begin(), now_.end());
    return last_[stream];
  }

  [[nodiscard]] Token last(StreamId stream) const { return last_[stream]; }
  void begin_repeating() {}
  std::uint32_t skip(std::uint32_t /*remaining*/, std::span<Token> /*carried*/) { return 0; }

  /// Until all ranks are done, by the event queue.
  [[nodiscard]] double seconds() && {
    const EventTimes times = run_events(TaskGraph(std::move(tasks_), orders_), seconds_);
    REQUIRE(times.stuck.empty());
    return times.end();
  }

 private:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  TaskId add(double seconds) {
    const auto id = static_cast<TaskId>(tasks_.size());
    tasks_.push_back({0, id, {}});
    seconds_.push_back(seconds);
    return id;
  }

  void start(std::initializer_list<Token> before) {
    for (std::uint32_t rank = 0; rank < ranks_.count(); ++rank) {
      now_[rank] = add(0);
      for (const Token token : before) {
        if (token.first != kNothing) orders_.emplace_back(ends_[token.first + rank], now_[rank]);
      }
    }
  }

  void work(StreamId stream, double seconds) {
    const auto kind = static_cast<StageStream>(stream % kStageStreams);
    const bool computes = kind == StageStream::compute;
    const bool sends = kind == StageStream::send_forward || kind == StageStream::send_backward;
    for (std::uint32_t rank = 0; rank < ranks_.count(); ++rank) {
      const std::size_t place = stream / kStageStreams * ranks_.count() + rank;
      const double slow = computes ? slowness_.compute[place] : sends ? slowness_.sends[place] : 1;
      const TaskId before = std::exchange(now_[rank], add(seconds * slow));
      orders_.emplace_back(before, now_[rank]);
    }
  }

  /// All in groups of `size` ranks of which every `stride`-th waits for one another.
  void meet(std::uint32_t size, std::uint32_t stride = 1) {
    for (std::uint32_t first = 0; first < ranks_.count(); first += size) {
      for (std::uint32_t member = first; member < first + stride; ++member) {
        const TaskId all_there = add(0);
        for (std::uint32_t rank = member; rank < first + size; rank += stride) {
          orders_.emplace_back(std::exchange(now_[rank], all_there), all_there);
        }
      }
    }
  }

  const PipelineShape& shape_;
  const BlockTable& durations_;
  const StageRanks& ranks_;
  const RankSlowness& slowness_;
  std::vector<Token> last_;
  std::vector<TaskId> now_;  // by rank
  std::vector<TaskId> ends_;
  std::vector<Task> tasks_;
  std::vector<TaskOrder> orders_;
  std::vector<double> seconds_;
};

/// The same by lanes and by the event queue, every rank as slow as `slowness` says.
void check_events(Schedule schedule, const PipelineShape& shape, const BlockTable& durations,
                  const StageRanks& ranks, const RankSlowness& slowness) {
  RankGraph graph(shape, durations, ranks, slowness);
  emit_pipeline(schedule, shape, graph);
  emit_step_end(schedule, shape, graph);
  CHECK(run_ranks(schedule, shape, durations, ranks, slowness)[0] ==
        doctest::Approx(std::move(graph).seconds()).epsilon(1e-9));
}

RankSlowness random_slowness(std::size_t ranks, std::mt19937& random) {
  std::uniform_real_distribution<double> slow(1.0, 1.5);
  RankSlowness slowness{std::vector<double>(ranks), std::vector<double>(ranks)};
  for (double& each : slowness.compute) each = slow(random);
  for (double& each : slowness.sends) each = slow(random);
  return slowness;
}

TEST_CASE("lanes of ranks each as slow as it likes take as long as by the event queue") {
  std::mt19937 random(6);
  // Tensor and expert groups inside one another, and neither.
  const StageRanks all[] = {{2, 3, {{3, 2}}, 4, 2}, {1, 6, {{4, 4}}, 4, 3}, {2, 4, {{6, 4}}, 4, 4},
                            {4, 2, {{4, 2}}, 4, 2}, {2, 3, {{2, 2}}, 4, 3}, {2, 2, {{5, 0}}}};
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    for (int plan = 0; plan < 60; ++plan) {
      CAPTURE(plan);
      auto shape = valid_shape(schedule, random);
      if (plan % 2 == 1) shape.exchanges = Exchanges::beside;
      const StageRanks& ranks = all[plan % std::size(all)];
      check_events(schedule, shape, random_durations(shape, random), ranks,
                   random_slowness(shape.stages * ranks.count(), random));
    }
  }
}

TEST_CASE("lanes and the event queue agree on 10,240 ranks with experts over 64 of them") {
  std::mt19937 random(8);
  PipelineShape shape{16, 16};
  shape.exchanges = Exchanges::beside;
  const StageRanks ranks{2, 320, {{4, 4}}, 4, 64};
  check_events(Schedule::one_f_one_b, shape, random_durations(shape, random), ranks,
               random_slowness(shape.stages * ranks.count(), random));
}

TEST_CASE("a slow rank holds up the ranks that it exchanges tokens with, layer by layer") {
  // One stage of 4 replicas, two and two exchanging; each pass is one layer.
  const PipelineShape shape{1, 10};
  BlockTable durations(shape);
  durations.at(TaskKind::forward, 0) = 1;
  durations.at(TaskKind::backward, 0) = 2;
  const Jitter jitter{0.05, 1};
  double before = 30;
  for (const std::uint32_t experts : {1U, 2U, 4U}) {
    const StageRanks ranks{1, 4, {{2, 2}}, 4, experts};
    double mean = 0;
    for (const double seconds :
         run_ranks(Schedule::one_f_one_b, shape, durations, ranks, {}, jitter, 50)) {
      mean += seconds / 50;
    }
    CHECK(mean > before);
    before = mean;
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
  const auto seconds = run_ranks(Schedule::one_f_one_b, shape, durations, {2, 2, {{4}}}, slowness);
  CHECK(seconds[0] == doctest::Approx(1.25 * 30 + 5).epsilon(1e-12));
}

TEST_CASE("a slower rank or link never makes the step faster") {
  std::mt19937 random(4);
  const StageRanks ranks{2, 2, {{3}}};
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
  for (const double seconds : run_ranks(kind, shape, durations, {8, 4, {{6}}}, {}, {0.02, 1}, 20)) {
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
  CHECK(run_ranks(Schedule::one_f_one_b, shape, durations, {8, 8}, {}).front() ==
        doctest::Approx(run_clock(Schedule::one_f_one_b, shape, durations).seconds).epsilon(1e-9));
}

}  // namespace
}  // namespace prequel
