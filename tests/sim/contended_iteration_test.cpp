#include "sim/answer/contended_iteration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "sim/answer/prediction.hpp"
#include "tests/error_text.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// A plan of the stack that overlaps sends, gradients and parameters.
Scenario overlapping(const char* model, const Settings& settings) {
  return planned(model, "jean-zay-a100", "megatron-core-2024", settings);
}

constexpr const char* kOverlapping = "megatron-core-2024";  // sends and reductions

/// A small model on devices that are done with a layer before the next is launched.
Scenario small_model() {
  return overlapping("gpt2-345m", {{"plan.nodes", "8"}, {"plan.gbs", "512"}, {"plan.mbs", "2"}});
}

/// A fully sharded plan on 4 nodes of 8 devices.
Scenario sharded_with(Settings settings) {
  settings.insert(settings.begin(), {{"plan.nodes", "4"}, {"plan.gbs", "128"}, {"plan.mbs", "2"}});
  return planned("llama-3-8b", "dgx-h100", "pytorch-fsdp2-2024", settings);
}

double clock_seconds(const Scenario& scenario) {
  return predict(scenario).sec_per_iter.value;
}

void check_sum(const Scenario& scenario, const ContendedIteration& step) {
  CHECK(step.seconds ==
        doctest::Approx(clock_seconds(scenario) + step.links + step.overlap + step.launches)
            .epsilon(1e-9));
}

TEST_CASE("an iteration whose parts do not meet takes as long as predicted") {
  // Blocking sends and launches, gradients reduced at the end, by all stages at once.
  const Scenario scenario = shipped_scenario({});
  const ContendedIteration step = contended_iteration(scenario, {});
  CHECK(step.seconds == doctest::Approx(clock_seconds(scenario)).epsilon(1e-9));
}

TEST_CASE("where sends are short and nothing else overlaps, no schedule takes much longer") {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2", "dualpipe"}) {
    CAPTURE(schedule);
    const Scenario scenario =
        shipped_scenario({{"plan.schedule", schedule}, {"software.communication.p2p_wait_s", "0"}});
    const ContendedIteration step = contended_iteration(scenario, {});
    CHECK(step.links > -1e-9 * step.seconds);
    CHECK(step.seconds == doctest::Approx(clock_seconds(scenario)).epsilon(1e-3));
    check_sum(scenario, step);
  }
}

TEST_CASE("gradients and sends that leave a node together share its links") {
  const Scenario scenario = shipped_scenario({}, kOverlapping);
  const ContendedIteration step = contended_iteration(scenario, {});
  CHECK(step.links > 0);
  check_sum(scenario, step);
}

TEST_CASE("stages that reduce gradients one after another have links to themselves") {
  WhatIf question;
  question.link_fractions = {{"spine", 0.2}};
  const ContendedIteration step = contended_iteration(shipped_scenario({}), question);
  CHECK(step.links < 0);
  CHECK(step.seconds > contended_iteration(shipped_scenario({}), {}).seconds);
}

TEST_CASE("reductions that overlap with the backward pass slow it by the device's loss") {
  Scenario scenario = shipped_scenario({}, kOverlapping);
  const ContendedIteration step = contended_iteration(scenario, {});
  CHECK(step.overlap > 0);
  scenario.device.overlap_loss /= 2;
  const ContendedIteration half = contended_iteration(scenario, {});
  CHECK(half.overlap < step.overlap);
  scenario.device.overlap_loss = 0;
  CHECK(contended_iteration(scenario, {}).overlap == 0);
}

TEST_CASE("a loss that was fitted on the software counts more than the device's") {
  Scenario scenario = shipped_scenario({}, kOverlapping);
  scenario.software.kernels.transformer_engine = false;  // these would lose it, too
  const double usual = contended_iteration(scenario, {}).overlap;
  scenario.software.communication.overlap_contention = scenario.device.overlap_loss;
  scenario.device.overlap_loss = 0.1;
  const ContendedIteration fitted = contended_iteration(scenario, {});
  CHECK(fitted.overlap == doctest::Approx(usual).epsilon(1e-9));
}

TEST_CASE("the host keeps ahead of large layers and falls behind small ones") {
  CHECK(contended_iteration(shipped_scenario({}, kOverlapping), {}).launches ==
        doctest::Approx(0).epsilon(1e-9));
  const Scenario small = small_model();
  const ContendedIteration step = contended_iteration(small, {});
  CHECK(step.launches > 0.1 * clock_seconds(small));
  check_sum(small, step);
  // Where the host is behind all the time, the passes take what it takes.
  const double host = small.software.host.blocking_launch_per_layer.value * (1 + 1.5) *
                      static_cast<double>(small.model.layers * small.plan.micro_batches());
  CHECK(step.seconds > host);
  CHECK(step.seconds < host + 0.3 * clock_seconds(small));
}

TEST_CASE("a host that waits for each kernel anyway costs what the prediction says") {
  Scenario small = small_model();
  small.software.host.launch = Launch::blocking;
  CHECK(contended_iteration(small, {}).launches == 0);
}

TEST_CASE("fully sharded layers lose what was fitted on them once, in the clock") {
  Scenario scenario = sharded_with({});
  const ContendedIteration step = contended_iteration(scenario, {});
  check_sum(scenario, step);
  REQUIRE(scenario.software.communication.overlap_contention > 0);
  CHECK(step.seconds == doctest::Approx(clock_seconds(scenario)).epsilon(1e-9));
  scenario.software.communication.overlap_contention = 0;
  scenario.device.overlap_loss = 0.2;
  CHECK(contended_iteration(scenario, {}).overlap > 0);
  scenario.device.overlap_loss = 0;
  CHECK(contended_iteration(scenario, {}).seconds ==
        doctest::Approx(clock_seconds(scenario)).epsilon(1e-9));
}

TEST_CASE("what gets in each other's way never makes a plan faster, on random plans") {
  std::mt19937 random(5);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  for (int i = 0; i < 80; ++i) {
    // Domains of one node and of many, NICs of a device each and fewer.
    const char* cluster = pick({"gb200-nvl72", "dgx-h100", "aws-p5-h100-efa-32x100G",
                                "jean-zay-a100", "mosaic-a100-80gb-roce"});
    const char* software = pick({"megatron-core-2025", "nemo-25.07", "torchtitan-2025"});
    const char* pp = pick({"1", "1", "4"});
    CAPTURE(i);
    CAPTURE(cluster);
    CAPTURE(software);
    const Scenario scenario =
        planned(pick({"llama-3-8b", "gpt-7.5b", "deepseek-v2-lite"}), cluster, software,
                {{"plan.nodes", pick({"4", "16", "32"})},
                 {"plan.tp", pick({"1", "2", "4"})},
                 {"plan.pp", pp},
                 {"model.num_hidden_layers", "32"},
                 {"plan.mbs", "1"},
                 {"plan.gbs", pick({"512", "2048"})},
                 {"plan.seq_len", "2048"},
                 {"plan.zero", pick({"0", "1"})},
                 {"plan.recompute", pick({"none", "full"})}});
    const ContendedIteration step = contended_iteration(scenario, {});
    CHECK(step.seconds >= (1 - 1e-9) * clock_seconds(scenario));
    CHECK(step.overlap >= -1e-9 * step.seconds);
    if (scenario.plan.pp == 1) CHECK(std::abs(step.links) < 1e-9 * step.seconds);
  }
}

TEST_CASE("context ranks that reduce gradients without data-parallel ones send something") {
  const Scenario scenario = planned("llama-3-8b", "aws-p5-h100-efa-32x100G", "megatron-core-2025",
                                    {{"plan.nodes", "4"},
                                     {"plan.tp", "8"},
                                     {"plan.cp", "4"},
                                     {"plan.mbs", "1"},
                                     {"plan.gbs", "64"}});
  REQUIRE(scenario.plan.dp == 1);
  CHECK(std::isfinite(contended_iteration(scenario, {}).seconds));
}

TEST_CASE("its parts add up whatever the plan, and the same plan gets the same answer") {
  std::mt19937 random(3);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const Scenario scenario =
        overlapping("gpt3-175b", {{"plan.nodes", "48"},
                                  {"plan.tp", pick({"2", "4", "8"})},
                                  {"plan.pp", pick({"2", "6", "12"})},
                                  {"plan.mbs", pick({"1", "2"})},
                                  {"plan.gbs", "3072"},
                                  {"plan.zero", pick({"0", "1"})},
                                  {"plan.schedule", pick({"gpipe", "1f1b", "zb-h2"})}});
    const ContendedIteration step = contended_iteration(scenario, {});
    check_sum(scenario, step);
    CHECK(step.overlap >= 0);
    CHECK(step.launches > -1e-9 * step.seconds);
    CHECK(contended_iteration(scenario, {}).seconds == step.seconds);
  }
}

TEST_CASE("what one rank for a stage cannot say is refused with what would do") {
  WhatIf slow;
  slow.slow_nodes = {{7, 0.9}};
  CHECK(error_text([&] { contended_iteration(shipped_scenario({}), slow); }) ==
        "contention: plays one rank for all of a stage, so it cannot say what slow nodes or "
        "jitter do; ask for them by themselves");
  CHECK(error_text([&] {
          contended_iteration(shipped_scenario({{"plan.tp", "16"}, {"plan.dp", "4"}}), {});
        }) ==
        "contention: tp 16 spans nodes of 8 devices, whose collectives within a layer are not "
        "played; tp 8 would do");
  CHECK(error_text([&] {
          contended_iteration(shipped_scenario({{"plan.gbs", "2048000"}}), {});
        }) ==
        "contention: 384000 passes over stages are too many to play one by one; gbs 1397952 "
        "would do");
}

}  // namespace
}  // namespace prequel
