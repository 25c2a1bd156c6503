#include "sim/step/plan_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/answer/prediction.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// The shipped 176B-class job under another schedule.
Scenario job_with(const std::string& schedule) {
  return shipped_scenario({{"plan.schedule", schedule}});
}

TEST_CASE("1F1B holds pp - stage micro batches, GPipe all, zero bubble pp on every stage") {
  const auto held = [](const std::string& schedule) {
    const Scenario scenario = job_with(schedule);
    std::vector<std::int64_t> most;
    for (const InFlight& stage : chunks_in_flight(scenario.plan, scenario.software)) {
      most.push_back(stage.most);
    }
    return most;
  };
  const std::int64_t all = job_with("gpipe").plan.micro_batches();
  CHECK(held("1f1b") == std::vector<std::int64_t>{6, 5, 4, 3, 2, 1});
  CHECK(held("gpipe") == std::vector<std::int64_t>(6, all));
  CHECK(held("zb-h1") == std::vector<std::int64_t>(6, 6));
}

TEST_CASE("a fully sharded model is one stage that holds one micro batch") {
  Scenario scenario = job_with("1f1b");
  scenario.plan.pp = 1;
  scenario.plan.zero = 3;
  CHECK(chunks_in_flight(scenario.plan, scenario.software).front().most == 1);
  CHECK(plan_memory(scenario, weights_of(scenario), {1}).stages.size() == 1);
}

TEST_CASE("the fullest stage is the one whose memory is judged and printed") {
  for (const char* schedule : {"1f1b", "gpipe", "zb-h2"}) {
    const Scenario scenario = job_with(schedule);
    const PlanMemory memory = plan_memory(scenario, weights_of(scenario),
                                          chunks_in_flight(scenario.plan, scenario.software));
    REQUIRE(memory.stages.size() == 6);
    const StageMemory& fullest = memory.stages[memory.fullest];
    for (const StageMemory& stage : memory.stages) CHECK(stage.total() <= fullest.total());
    CHECK(memory.peak == printed_peak(fullest, most_reserved(scenario.device, scenario.software)));
    CHECK(memory.verdict == memory_verdict(fullest, scenario.device));
    CHECK(memory.needed() == fullest.needed());
  }
}

TEST_CASE("stages of 1F1B differ by what a micro batch keeps") {
  const Scenario scenario = job_with("1f1b");
  const PlanMemory memory = plan_memory(scenario, weights_of(scenario),
                                        chunks_in_flight(scenario.plan, scenario.software));
  // Between the ends all stages are alike: each holds one micro batch more than the next.
  const double one = memory.stages[1].activations.value - memory.stages[2].activations.value;
  CHECK(one > 0);
  for (std::size_t stage = 2; stage + 2 < memory.stages.size(); ++stage) {
    const double more =
        memory.stages[stage].activations.value - memory.stages[stage + 1].activations.value;
    CHECK(more == doctest::Approx(one).epsilon(1e-12));
  }
}

TEST_CASE("a log of Megatron-LM is of its last rank, nanotron's of its first") {
  const auto logged = [](const char* software) {
    const Scenario scenario = planned("llama-2-7b", "dgx-h100", software,
                                      {{"plan.nodes", "1"}, {"plan.gbs", "64"}, {"plan.pp", "4"}});
    const Prediction prediction = predict(scenario);
    const MemoryStack& stack = scenario.software.memory;
    const std::size_t stage = logged_stage(prediction, stack);
    CHECK(logged_memory(prediction, stack, MemoryKind::allocated) ==
          prediction.stages[stage].memory.allocated());
    CHECK(memory_of(prediction, MemoryKind::allocated) >=
          logged_memory(prediction, stack, MemoryKind::allocated));
    return stage;
  };
  CHECK(logged("megatron-core-2026") == 3);
  CHECK(logged("nanotron-2025") == 0);
}

TEST_CASE("paged states are none of what the allocator hands out") {
  StageMemory memory;
  memory.optimizer = {8e9};
  memory.weights = {2e9};
  memory.framework = {1e9};
  const Bytes total = memory.total(), allocated = memory.allocated();
  memory.paged = {8e9};
  CHECK(memory.total() == total);
  CHECK(memory.allocated() == allocated - memory.paged);
  CHECK(memory.needed() == total - memory.paged);
}

TEST_CASE("of a plan that does not fit, or hardly, the kinds add up to the printed peak, too") {
  for (const char* mbs : {"1", "4", "8", "16"}) {
    const Scenario scenario =
        planned("llama-2-7b", "dgx-h100", "",
                {{"plan.nodes", "4"}, {"plan.gbs", "512"}, {"plan.mbs", mbs}});
    const PlanMemory memory = plan_memory(scenario, weights_of(scenario), {1});
    const StageMemory& stage = memory.stages.front();
    CHECK(memory.peak == stage.total());
    CHECK(memory.peak.value >= stage.needed().value * (1 - 1e-12));
    if (memory.verdict != MemoryVerdict::oom) {
      CHECK(memory.peak < scenario.device.memory);
    } else {
      CHECK(memory.peak.value == doctest::Approx(memory.needed().value));
    }
  }
}

TEST_CASE("experts that are shared out are gathered, whether or not dense parameters are") {
  // With etp 1 and ep 1 the expert-data group is the tensor group, of four ranks, times dp.
  const auto memory = [](const char* nodes, const char* gbs) {
    const Scenario scenario = planned("qwen3-30b-a3b", "dgx-h100", "torchtitan-2025",
                                      {{"plan.nodes", nodes},
                                       {"plan.tp", "4"},
                                       {"plan.pp", "2"},
                                       {"plan.ep", "1"},
                                       {"plan.etp", "1"},
                                       {"plan.mbs", "1"},
                                       {"plan.gbs", gbs},
                                       {"plan.seq_len", "4096"},
                                       {"plan.recompute", "full"}});
    return plan_memory(scenario, weights_of(scenario),
                       chunks_in_flight(scenario.plan, scenario.software));
  };
  const auto buffers = [](const auto& plan) {
    double most = 0;
    for (const auto& stage : plan.stages) most = std::max(most, stage.buffers.value);
    return most;
  };
  const double alone = buffers(memory("1", "8"));
  const double twice = buffers(memory("2", "16"));
  CHECK(alone > 0.9 * twice);
  CHECK(alone <= twice);
}

TEST_CASE("more in flight is more memory, by the activations alone") {
  const Scenario scenario = job_with("1f1b");
  const PlanMemory few = plan_memory(scenario, weights_of(scenario), std::vector<InFlight>(6, 1));
  const PlanMemory many = plan_memory(scenario, weights_of(scenario), std::vector<InFlight>(6, 5));
  for (std::size_t stage = 0; stage < 6; ++stage) {
    const StageMemory& small = few.stages[stage];
    const StageMemory& large = many.stages[stage];
    CHECK(large.activations > small.activations);
    CHECK((large.total() - large.activations).value ==
          doctest::Approx((small.total() - small.activations).value));
  }
}

}  // namespace
}  // namespace prequel
