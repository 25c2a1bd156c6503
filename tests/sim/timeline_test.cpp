#include "sim/answer/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "sim/answer/prediction.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// Fully sharded, on 4 nodes of 8 devices.
Scenario sharded() {
  return planned("llama-3-8b", "dgx-h100", "pytorch-fsdp2-2024",
                 {{"plan.nodes", "4"}, {"plan.gbs", "128"}, {"plan.mbs", "2"}});
}

/// Pipelines of every schedule, with blocking and overlapped sends, with and without gradient
/// buckets; and a fully sharded plan.
std::vector<Scenario> plans() {
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  std::vector<Scenario> all;
  for (const char* schedule : {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "dualpipe"}) {
    for (int i = 0; i < 8; ++i) {
      const bool interleaved = schedule == std::string("interleaved-1f1b");
      all.push_back(shipped_scenario(
          {{"plan.tp", pick({"1", "4", "8"})},
           {"plan.pp", pick({"2", "4", "6"})},
           {"plan.dp", "8"},
           {"plan.nodes", "null"},
           {"cluster.nodes", "96"},
           {"plan.vpp", interleaved ? "2" : "1"},
           {"plan.schedule", schedule},
           {"plan.mbs", pick({"1", "2"})},
           {"plan.gbs", "384"},
           {"plan.zero", pick({"0", "1"})},
           {"software.communication.p2p_wait_s", pick({"0", "0.0003", "null"})},
           {"software.communication.gradient_overlap", pick({"\"always\"", "\"none\""})},
           {"plan.recompute", pick({"none", "full"})},
           {"model.num_hidden_layers", pick({"24", "48"})}}));
    }
  }
  all.push_back(sharded());
  return all;
}

TEST_CASE("the timeline of every schedule takes as long as predicted") {
  for (const Scenario& scenario : plans()) {
    const Timeline played = timeline(scenario);
    CHECK(played.seconds == predict(scenario).sec_per_iter.value);
    double end = 0;
    for (const TimelineSlice& slice : played.slices) end = std::max(end, slice.end_s);
    CHECK(end + beside_the_passes(scenario.software.host, scenario.model.layers, scenario.plan.pp)
                    .value ==
          played.seconds);
  }
}

TEST_CASE("slices of one stream follow one another") {
  for (const Scenario& scenario : plans()) {
    std::map<std::pair<int, StageStream>, double> free_from;
    for (const TimelineSlice& slice : timeline(scenario).slices) {
      double& free = free_from[{slice.stage, slice.stream}];
      CHECK(slice.start_s >= free);
      CHECK(slice.end_s > slice.start_s);
      free = slice.end_s;
    }
  }
}

TEST_CASE("buckets of a block come one by one, each as often as the others") {
  for (const Scenario& scenario : plans()) {
    std::map<std::tuple<TaskKind, std::uint32_t, std::uint32_t>, std::uint32_t> next;
    for (const TimelineSlice& slice : timeline(scenario).slices) {
      CHECK(slice.bucket == next[{slice.kind, slice.block, slice.stage}]);
      next[{slice.kind, slice.block, slice.stage}] = (slice.bucket + 1) % slice.buckets;
    }
    for (const auto& [where, bucket] : next) CHECK(bucket == 0);
  }
}

TEST_CASE("what is received has been sent, by another stage") {
  for (const Scenario& scenario : plans()) {
    const Timeline played = timeline(scenario);
    CHECK(played.transfers.empty() == (played.memory.size() == 1));
    for (const auto& [from, to] : played.transfers) {
      CHECK(played.slices[from].end_s <= played.slices[to].start_s);
      CHECK(played.slices[from].stage != played.slices[to].stage);
    }
  }
}

TEST_CASE("the most that a stage holds over time is what the memory model says it needs") {
  for (const Scenario& scenario : plans()) {
    const Timeline played = timeline(scenario);
    const Prediction prediction = predict(scenario);
    REQUIRE(played.memory.size() == prediction.stages.size());
    for (std::size_t stage = 0; stage < played.memory.size(); ++stage) {
      const auto& memory = played.memory[stage];
      const auto peak = std::ranges::max_element(
          memory, [](const auto& a, const auto& b) { return a.held < b.held; });
      // The same parts, added up in another order.
      CHECK(peak->held.value ==
            doctest::Approx(prediction.stages[stage].memory.total().value).epsilon(1e-12));
      CHECK(memory.front().held.value == memory.back().held.value);
      CHECK(std::ranges::is_sorted(memory, {}, &MemoryPoint::time_s));
    }
  }
}

TEST_CASE("what a stage does and what it waits for add up to the iteration") {
  for (const Scenario& scenario : plans()) {
    const StageShares shares = stage_shares(scenario, predict(scenario));
    for (const StageShare& stage : shares.stages) {
      const double sum = stage.computing_s + stage.communicating_s + stage.bubble_s + stage.host_s;
      CHECK(sum == doctest::Approx(shares.seconds).epsilon(1e-9));
      for (const double part : {stage.computing_s, stage.communicating_s, stage.bubble_s}) {
        CHECK(part >= 0);
      }
    }
  }
}

TEST_CASE("the critical path has no gap: its slices add up to the iteration") {
  for (const Scenario& scenario : plans()) {
    const Timeline played = timeline(scenario);
    double slices =
        beside_the_passes(scenario.software.host, scenario.model.layers, scenario.plan.pp).value;
    double stages = slices;
    for (const TimelineSlice& slice : played.slices) {
      if (slice.critical) slices += slice.end_s - slice.start_s;
    }
    const StageShares shares = stage_shares(scenario, predict(scenario));
    for (const StageShare& stage : shares.stages) stages += stage.critical_s;
    CHECK(slices == doctest::Approx(played.seconds).epsilon(1e-9));
    CHECK(stages == doctest::Approx(played.seconds).epsilon(1e-9));
  }
}

TEST_CASE("what a stage computes is what the prediction says, on its busiest stage") {
  const Scenario scenario = shipped_scenario({});
  const Prediction prediction = predict(scenario);
  const Breakdown& parts = prediction.breakdown;
  const StageShare stage = stage_shares(scenario, prediction).stages[prediction.slowest_stage];
  CHECK(stage.computing_s ==
        doctest::Approx(parts.compute + parts.recompute + parts.optimizer).epsilon(1e-9));
  CHECK(stage.host_s == doctest::Approx(parts.host + parts.other).epsilon(1e-9));
}

}  // namespace
}  // namespace prequel
