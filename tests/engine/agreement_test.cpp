// Facts that must hold for every schedule on any plan: random ones here, from a fixed seed.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "sim/engine/accounting_clock.hpp"
#include "sim/engine/clock.hpp"
#include "sim/engine/contention.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/schedule/emit.hpp"
#include "sim/schedule/held_moments.hpp"
#include "sim/schedule/least_time.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/schedule/schedule.hpp"
#include "tests/engine/most_in_flight.hpp"

namespace prequel {
namespace {

class RandomPlans {
 public:
  explicit RandomPlans(std::uint32_t seed) : random_(seed) {}

  PipelineShape shape(Schedule kind) {
    PipelineShape shape{between(1, 12), between(1, between(0, 9) == 0 ? 150 : 20)};
    if (kind == Schedule::interleaved) {
      shape.chunks = between(2, 4);
      shape.micro_batches = shape.stages * between(1, 5);
      if (between(0, 1) == 0) {
        shape.group = shape.stages + between(0, 5);
        const std::uint32_t rest = between(0, 1) * between(shape.stages, shape.group);
        shape.micro_batches = shape.group * between(1, 4) + rest % shape.group;
      }
    }
    if (traits(kind).folded) {
      shape.chunks = 2;
      if (kind == Schedule::dualpipe_v) shape.micro_batches += 2 * shape.stages;
    }
    if (kind == Schedule::zb_2p) shape.micro_batches += 2 * shape.stages - 2;
    if (kind == Schedule::dualpipe) {
      shape.stages = 2 * between(1, 6);
      shape.chunks = 2;
      shape.micro_batches = 2 * shape.stages + 2 * between(0, between(0, 9) == 0 ? 70 : 12);
    }
    if (between(0, 2) == 0) shape.sends = Sends::blocking;
    if (between(0, 2) == 0) shape.exchanges = Exchanges::beside;
    shape.copies = between(0, 2) == 0;
    return shape;
  }

  /// A shape whose gradients are reduced in buckets, behind gathers of parameters or not.
  PipelineShape overlapping(Schedule kind) {
    PipelineShape shape = this->shape(kind);
    shape.buckets = between(1, 5);
    shape.gathers = between(0, 1) == 1 ? Gathers::once : Gathers::never;
    const bool alone = shape.exchanges == Exchanges::inside && !traits(kind).mirrored;
    shape.reduces_each = alone && between(0, 3) == 0;
    shape.gathers_at_end = shape.gathers == Gathers::never && shape.buckets % 2 == 0;
    shape.reduces_beside = shape.gathers == Gathers::never || shape.buckets % 3 != 0;
    return shape;
  }

  /// One whose parts are gathered in every micro batch, where the schedule splits no backward.
  PipelineShape gathering(Schedule kind) {
    PipelineShape shape = this->shape(kind);
    if (shape.stages == 1) ++shape.stages;
    if (kind == Schedule::interleaved) {
      shape.group = 0;
      shape.micro_batches = shape.stages * between(1, 5);
    }
    shape.buckets = between(1, 5);
    shape.gathers = between(0, 1) == 1 ? Gathers::each_pass : Gathers::each_micro_batch;
    shape.prefetch = between(0, 2);
    shape.reduces_beside = shape.buckets % 3 != 0;
    return shape;
  }

  /// One or the other.
  PipelineShape any(Schedule kind) { return between(0, 1) == 0 ? shape(kind) : overlapping(kind); }

  /// Near-equal, unequal or partly zero durations: each brings its own trouble.
  BlockTable durations(const PipelineShape& shape) {
    BlockTable table(shape);
    const double spread = std::array{1e-6, 0.1, 1.0}[between(0, 2)];
    const bool free_sends = between(0, 3) == 0;
    for (const auto& [task, part_of, stream, sync, keeps, in_buckets, name] : kTasks) {
      const bool is_send = traits(task).is_send();
      if (traits(task).is_copy() && !shape.copies) continue;
      const bool is_beside = part_of != task && !in_buckets;
      if (is_beside && shape.exchanges == Exchanges::inside) continue;
      const bool is_part = in_buckets && task != TaskKind::gradient_reduce;
      if (is_part && shape.buckets == 0) continue;
      if (task == TaskKind::backward_gather && !in_every_micro_batch(shape.gathers)) continue;
      if (task == TaskKind::gather_updates && !shape.gathers_at_end) continue;
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
          table.at(task, stage, chunk) =
              is_send && free_sends ? 0 : 1e-3 * (1 + spread * (uniform_(random_) - 1));
        }
      }
    }
    return table;
  }

  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution(low, high)(random_);
  }

 private:
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
};

EventTimes run_graph(const TaskGraph& graph, const PipelineShape& shape, const BlockTable& table) {
  return run_events(graph, exact_durations(table.values(), shape.most_runs()));
}

/// Clock, lanes of two replicas of two alike ranks, and event queue.
void check_agreement(Schedule kind, const PipelineShape& shape, const BlockTable& durations) {
  const auto times = run_graph(build_graph(kind, shape), shape, durations);
  REQUIRE(times.stuck.empty());
  const double seconds = run_clock(kind, shape, durations).seconds;
  REQUIRE(seconds == doctest::Approx(times.end()).epsilon(1e-9));
  const double lanes = run_ranks(kind, shape, durations, {2, 2, {{2}}}, {}).front();
  REQUIRE(seconds == doctest::Approx(lanes).epsilon(1e-9));
}

TEST_CASE("clock, lanes and event queue agree on 1000 random plans of every schedule") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(1);
    for (int plan = 0; plan < 1000; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.shape(schedule);
      check_agreement(schedule, shape, plans.durations(shape));
    }
  }
}

constexpr Schedule kUnsplit[] = {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved};

TEST_CASE("they agree where stages gather their parts in every micro batch") {
  for (const Schedule schedule : kUnsplit) {
    CAPTURE(name(schedule));
    RandomPlans plans(12);
    for (int plan = 0; plan < 500; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.gathering(schedule);
      const auto durations = plans.durations(shape);
      check_agreement(schedule, shape, durations);
      const double least = least_seconds(schedule, shape, durations);
      REQUIRE(least <= run_clock(schedule, shape, durations).seconds * (1 + 1e-12));
    }
  }
}

TEST_CASE("they agree on 1000 plans with gradient buckets and parameter gathers, too") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(7);
    for (int plan = 0; plan < 1000; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.overlapping(schedule);
      check_agreement(schedule, shape, plans.durations(shape));
    }
  }
}

/// How many micro batches a schedule can run, beginning with `from`.
std::uint32_t many(Schedule kind, const PipelineShape& shape, std::uint32_t from) {
  return kind == Schedule::interleaved ? from * shape.group_size() : from;
}

/// A shape with as few chunks as the schedule can have.
PipelineShape plain_shape(Schedule kind, std::uint32_t stages, std::uint32_t micro_batches) {
  const bool two = kind == Schedule::interleaved || traits(kind).folded;
  return {stages, micro_batches, two ? 2 : chunks_of(kind, 1)};
}

TEST_CASE("clock and event queue agree on pipelines that have long been periodic") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(9);
    for (int plan = 0; plan < 30; ++plan) {
      CAPTURE(plan);
      auto shape = plans.any(schedule);
      shape.micro_batches = many(schedule, shape, 1000);
      const auto durations = plans.durations(shape);
      const auto times = run_graph(build_graph(schedule, shape), shape, durations);
      REQUIRE(run_clock(schedule, shape, durations).seconds ==
              doctest::Approx(times.end()).epsilon(1e-9));
    }
  }
}

/// A clock that counts what it is told.
class CountingClock : public Clock {
 public:
  using Clock::Clock;

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    ++told;
    return Clock::run(stream, price, label, after...);
  }

  std::size_t told = 0;
};

TEST_CASE("a clock is told no more of a long pipeline than of one that has become periodic") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    PipelineShape shape = plain_shape(schedule, 8, 0);
    const auto told = [&](std::uint32_t micro_batches) {
      shape.micro_batches = micro_batches;
      BlockTable durations(shape);
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
          durations.at(TaskKind::forward, stage, chunk) = stage == 3 ? 1.5 : 1;
          durations.at(TaskKind::backward, stage, chunk) = stage == 3 ? 3 : 2;
          durations.at(TaskKind::input_gradient, stage, chunk) = 1;
          durations.at(TaskKind::weight_gradient, stage, chunk) = stage == 3 ? 2 : 1;
          durations.at(TaskKind::send_forward, stage, chunk) = 0.125;
          durations.at(TaskKind::send_backward, stage, chunk) = 0.125;
        }
      }
      CountingClock clock(durations.values(), stream_count(shape));
      emit_pipeline(schedule, shape, clock);
      return clock.told;
    };
    CHECK(told(4096) == told(32768));
    CHECK(told(4096) < told(64) * 8);
  }
}

TEST_CASE("where nothing is shared, a run with contention is the event queue's") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(6);
    for (int plan = 0; plan < 200; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.shape(schedule);
      const auto durations = plans.durations(shape);
      const auto graph = build_graph(schedule, shape);
      // Every stage a device that loses nothing.
      std::vector<StreamPlace> streams;
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        streams.push_back({stage, StreamUse::computes});
        streams.insert(streams.end(), kStageStreams - 1, {stage, StreamUse::communicates});
      }
      const std::vector<double> losses(shape.stages, 0.0);
      Machine machine;
      machine.streams = streams;
      machine.overlap_loss = losses;
      const auto expected = run_graph(graph, shape, durations).finish;
      const auto times = run_contended(graph, durations.values(), machine).finish;
      double worst = 0;
      for (TaskId task = 0; task < times.size(); ++task) {
        worst = std::max(worst, std::abs(times[task] / expected[task] - 1));
      }
      REQUIRE(worst < 1e-9);
    }
  }
}

/// How often each kind of task is on each block, and the seconds that each stage computes before
/// the optimizer.
struct Work {
  std::vector<double> times;
  std::vector<double> computing;
};

Work work_of(const TaskGraph& graph, const PipelineShape& shape, const BlockTable& durations) {
  Work work{std::vector<double>(durations.values().size()), std::vector<double>(shape.stages)};
  for (const auto& [stream, price, label] : graph.tasks()) {
    ++work.times[price];
    const bool passes = static_cast<TaskKind>(label.kind) != TaskKind::optimizer;
    if (stream == stream_of(StageStream::compute, label.stage) && passes) {
      work.computing[label.stage] += durations.values()[price];
    }
  }
  return work;
}

TEST_CASE("no two tasks overlap on a stream") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(2);
    for (int plan = 0; plan < 200; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.any(schedule);
      const auto durations = plans.durations(shape);
      const auto graph = build_graph(schedule, shape);
      const auto times = run_graph(graph, shape, durations);
      std::vector<double> free_at(stream_count(shape));
      std::uint32_t overlaps = 0;
      for (TaskId task = 0; task < graph.tasks().size(); ++task) {
        const auto& [stream, price, label] = graph.tasks()[task];
        const double start = times.finish[task] - durations.values()[price];
        overlaps += start < free_at[stream] - 1e-12 ? 1 : 0;
        free_at[stream] = times.finish[task];
      }
      REQUIRE(overlaps == 0);
    }
  }
}

TEST_CASE("work is conserved: each block passes each micro batch once, whole or in buckets") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(8);
    for (int plan = 0; plan < 200; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.any(schedule);
      const auto durations = plans.durations(shape);
      const Work work = work_of(build_graph(schedule, shape), shape, durations);
      const auto result = run_clock(schedule, shape, durations);
      const double halves = schedule == Schedule::dualpipe ? 2 : 1;
      const double parts = std::max(1U, shape.buckets);
      for (std::uint32_t block = 0; block < shape.blocks(); ++block) {
        const auto times = [&](TaskKind kind) {
          return work.times[BlockTable::price(kind, block, shape.blocks())];
        };
        using enum TaskKind;
        const double passes = shape.micro_batches / halves;
        REQUIRE(times(forward) + times(forward_bucket) / parts + times(forward_beside) == passes);
        REQUIRE(times(backward) + times(backward_bucket) / parts + times(backward_beside) +
                    times(weight_gradient) + times(weight_gradient_bucket) / parts ==
                passes);
        REQUIRE(times(forward_exchange) == times(forward_beside));
        REQUIRE(times(backward_exchange) == times(backward_beside));
        REQUIRE(times(input_gradient) ==
                times(weight_gradient) + times(weight_gradient_bucket) / parts);
      }
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        REQUIRE(result.stages[stage].busy == doctest::Approx(work.computing[stage]).epsilon(1e-9));
        REQUIRE(result.stages[stage].busy <= result.stages[stage].pipeline_end * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("a faster kernel or link never slows the step") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(3);
    for (int plan = 0; plan < 400; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.any(schedule);
      auto durations = plans.durations(shape);
      const double before = run_clock(schedule, shape, durations).seconds;
      const auto kind = static_cast<TaskKind>(plans.between(0, kTaskKinds - 1));
      const std::uint32_t stage = plans.between(0, shape.stages - 1);
      durations.at(kind, stage, plans.between(0, shape.chunks - 1)) *= 0.5;
      const double after = run_clock(schedule, shape, durations).seconds;
      REQUIRE(after <= before * (1 + 1e-12));
    }
  }
}

/// By price: passes count as 1, sends as 2, collectives as 3, the optimizer as 4.
std::vector<PricedUse> uses_of(const PipelineShape& shape) {
  std::vector<PricedUse> uses;
  for (const TaskTraits& task : kTasks) {
    const Use use = task.is_pass() ? 1 : task.is_send() ? 2 : 3;
    const bool computes = task.kind == TaskKind::optimizer || task.is_pass();
    uses.insert(uses.end(), shape.blocks(),
                {task.kind == TaskKind::optimizer ? Use{4} : use, !computes});
  }
  return uses;
}

/// An accounting clock that skips nothing.
class ThoroughAccount : public AccountingClock {
 public:
  using AccountingClock::AccountingClock;
  std::uint32_t skip(std::uint32_t /*remaining*/, std::span<Token> /*carried*/) { return 0; }
};

TEST_CASE("accounts of all streams add up to the clock's times, skipped or played to the end") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(13);
    for (int plan = 0; plan < 300; ++plan) {
      CAPTURE(plan);
      auto shape = plans.any(schedule);
      if (plan % 10 == 0) shape.micro_batches = many(schedule, shape, 300);
      const auto durations = plans.durations(shape);
      const auto exact = exact_durations(durations.values(), shape.most_runs());
      const auto uses = uses_of(shape);
      AccountingClock account(exact, uses, 5, stream_count(shape));
      ThoroughAccount thorough(exact, uses, 5, stream_count(shape));
      Clock clock(exact, stream_count(shape));
      const auto play = [&](auto& reader) {
        emit_pipeline(schedule, shape, reader);
        emit_step_end(schedule, shape, reader);
      };
      play(account);
      play(thorough);
      play(clock);
      for (StreamId stream = 0; stream < stream_count(shape); ++stream) {
        REQUIRE(account.finish(stream) == clock.finish(stream));
        REQUIRE(account.busy(stream) == clock.busy(stream));
        const auto spent = account.account(stream);
        const double sum = std::accumulate(spent.begin(), spent.end(), 0.0);
        REQUIRE(sum == doctest::Approx(clock.finish(stream)).epsilon(1e-12));
        for (std::size_t use = 0; use < spent.size(); ++use) {
          REQUIRE(spent[use] >= 0);
          REQUIRE(spent[use] == doctest::Approx(thorough.account(stream)[use]).epsilon(1e-9));
        }
      }
    }
  }
}

TEST_CASE("what a pipeline takes it gives back, and never holds less than nothing") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(4);
    for (int plan = 0; plan < 100; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.shape(schedule);
      for (const double held : most_in_flight(schedule, shape)) {
        REQUIRE(held >= 1);
        REQUIRE(held <= shape.micro_batches * shape.chunks);
      }
    }
  }
}

/// The most that each stage holds when all tasks are told, one by one.
std::vector<double> held_by_all(Schedule kind, const PipelineShape& shape,
                                const BlockTable& changes) {
  std::vector<double> held(shape.stages);
  std::vector<double> most(shape.stages);
  const auto graph = build_graph(kind, shape);
  for (const auto& [stream, price, label] : graph.tasks()) {
    const TaskKind whole = traits(static_cast<TaskKind>(label.kind)).part_of;
    held[label.stage] += changes.at(whole, label.stage, label.chunk);
    most[label.stage] = std::max(most[label.stage], held[label.stage]);
  }
  return most;
}

TEST_CASE("what is held at the most is that of all micro batches, though few are told") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(11);
    for (int plan = 0; plan < 200; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.shape(schedule);
      BlockTable one_each(shape);
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
          one_each.at(TaskKind::forward, stage, chunk) = 1;
          one_each.at(TaskKind::backward, stage, chunk) = -1;
          one_each.at(TaskKind::weight_gradient, stage, chunk) = -1;
        }
      }
      REQUIRE(most_in_flight(schedule, shape) == held_by_all(schedule, shape, one_each));
    }
  }
}

TEST_CASE("the moments of a stage hold the most bytes that it ever holds, whatever chunks weigh") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(12);
    for (int plan = 0; plan < 100; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.shape(schedule);
      BlockTable changes(shape);
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
          const double bytes = std::floor(plans.between(0, 1000));
          changes.at(TaskKind::forward, stage, chunk) = bytes;
          changes.at(TaskKind::backward, stage, chunk) = -bytes;
          changes.at(TaskKind::weight_gradient, stage, chunk) = -bytes;
        }
      }
      const auto stages = in_flight(schedule, shape);
      const auto peaks = held_by_all(schedule, shape, changes);
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
        double most = 0;
        for (const ChunkMoment& moment : stages[stage].moments) {
          double held = 0;
          for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
            held += static_cast<double>(moment.held[chunk]) *
                    changes.at(TaskKind::forward, stage, chunk);
          }
          most = std::max(most, held);
        }
        REQUIRE(most == peaks[stage]);
      }
    }
  }
}

/// Tells how many tasks the moments of a peak are found from.
class CountingMoments : public HeldMoments {
 public:
  using HeldMoments::HeldMoments;

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    ++told;
    return HeldMoments::run(stream, price, label, after...);
  }

  std::size_t told = 0;
};

TEST_CASE("a peak is told no more of a billion micro batches than of a thousand") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    const auto told = [&](std::uint32_t micro_batches) {
      const PipelineShape shape = plain_shape(schedule, 8, micro_batches);
      CountingMoments peak(shape);
      emit_pipeline(schedule, shape, peak);
      return peak.told;
    };
    CHECK(told(1'000'000'000) == told(1000));
  }
  CHECK(most_in_flight(Schedule::gpipe, {4, 1'000'000'000}).front() == 1e9);
}

TEST_CASE("the time of a step grows by the same for each further micro batch, however many") {
  RandomPlans plans(5);
  for (int plan = 0; plan < 50; ++plan) {
    CAPTURE(plan);
    auto shape = plans.shape(Schedule::one_f_one_b);
    shape.exchanges = Exchanges::inside;
    const auto durations = plans.durations(shape);
    const auto seconds = [&](std::uint32_t micro_batches) {
      shape.micro_batches = micro_batches;
      return run_clock(Schedule::one_f_one_b, shape, durations).seconds;
    };
    // 27720 is a multiple of every period that up to 12 stages can have.
    const double rate = (seconds(300000 + 27720) - seconds(300000)) / 27720;
    REQUIRE((seconds(3000000) - seconds(3000000 - 277200)) / 277200 ==
            doctest::Approx(rate).epsilon(1e-9));
  }
}

TEST_CASE("no step is shorter than its bound, on 1000 random plans of every schedule") {
  for (const Schedule schedule : all_of<Schedule>()) {
    CAPTURE(name(schedule));
    RandomPlans plans(9);
    for (int plan = 0; plan < 1000; ++plan) {
      CAPTURE(plan);
      const auto shape = plans.any(schedule);
      const auto durations = plans.durations(shape);
      const double seconds = run_clock(schedule, shape, durations).seconds;
      const double least = least_seconds(schedule, shape, durations);
      REQUIRE(least <= seconds * (1 + 1e-12));
      REQUIRE(least > 0);
    }
  }
}

}  // namespace
}  // namespace prequel
