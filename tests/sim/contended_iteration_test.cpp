#include "sim/answer/contended_iteration.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sim/answer/prediction.hpp"
#include "tests/error_text.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

using Settings = std::vector<std::pair<const char*, const char*>>;

/// The shipped 176B-class job, on six stages of eight nodes each, with some fields replaced.
Scenario scenario_with(const Settings& settings, const char* software = nullptr) {
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  if (software != nullptr) request.software = software;
  for (const auto& [path, value] : settings) request.overrides.push_back({path, value});
  const Job job = read_job(shipped_library(), request);
  return {job.model, job.device, job.cluster, job.software,
          resolve_plan(job.plan, job.model, job.cluster, job.software).plan};
}

/// A plan of the stack that overlaps sends, gradients and parameters.
Scenario planned(const char* model, const Settings& settings) {
  JobRequest request;
  request.model = model;
  request.cluster = "jean-zay-a100";
  request.software = "megatron-core-2024";
  for (const auto& [path, value] : settings) request.overrides.push_back({path, value});
  const Job job = read_job(shipped_library(), request);
  return {job.model, job.device, job.cluster, job.software,
          resolve_plan(job.plan, job.model, job.cluster, job.software).plan};
}

constexpr const char* kOverlapping = "megatron-core-2024";  // sends and reductions

/// A small model on devices that are done with a layer before the next is launched.
Scenario small_model() {
  return planned("gpt2-345m", {{"plan.nodes", "8"}, {"plan.gbs", "512"}, {"plan.mbs", "2"}});
}

/// A fully sharded plan on 4 nodes of 8 devices.
Scenario sharded_with(Settings settings) {
  settings.insert(settings.begin(), {{"plan.nodes", "4"}, {"plan.gbs", "128"}, {"plan.mbs", "2"}});
  JobRequest request;
  request.model = "llama-3-8b";
  request.cluster = "dgx-h100";
  request.software = "pytorch-fsdp2-2024";
  for (const auto& [path, value] : settings) request.overrides.push_back({path, value});
  const Job job = read_job(shipped_library(), request);
  return {job.model, job.device, job.cluster, job.software,
          resolve_plan(job.plan, job.model, job.cluster, job.software).plan};
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
  const Scenario scenario = scenario_with({});
  const ContendedIteration step = contended_iteration(scenario, {});
  CHECK(step.seconds == doctest::Approx(clock_seconds(scenario)).epsilon(1e-9));
}

TEST_CASE("where sends are short and nothing else overlaps, no schedule takes much longer") {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2", "dualpipe"}) {
    CAPTURE(schedule);
    const Scenario scenario = scenario_with(
        {{"plan.schedule", schedule}, {"software.communication.blocking_p2p", "true"}});
    const ContendedIteration step = contended_iteration(scenario, {});
    CHECK(step.links > -1e-9 * step.seconds);
    CHECK(step.seconds == doctest::Approx(clock_seconds(scenario)).epsilon(1e-3));
    check_sum(scenario, step);
  }
}

TEST_CASE("gradients and sends that leave a node together share its links") {
  const Scenario scenario = scenario_with({}, kOverlapping);
  const ContendedIteration step = contended_iteration(scenario, {});
  CHECK(step.links > 0);
  check_sum(scenario, step);
}

TEST_CASE("stages that reduce gradients one after another have links to themselves") {
  WhatIf question;
  question.link_fractions = {{"spine", 0.2}};
  const ContendedIteration step = contended_iteration(scenario_with({}), question);
  CHECK(step.links < 0);
  CHECK(step.seconds > contended_iteration(scenario_with({}), {}).seconds);
}

TEST_CASE("reductions that overlap with the backward pass slow it by the device's loss") {
  Scenario scenario = scenario_with({}, kOverlapping);
  const ContendedIteration step = contended_iteration(scenario, {});
  CHECK(step.overlap > 0);
  scenario.device.overlap_loss /= 2;
  const ContendedIteration half = contended_iteration(scenario, {});
  CHECK(half.overlap < step.overlap);
  scenario.device.overlap_loss = 0;
  CHECK(contended_iteration(scenario, {}).overlap == 0);
}

TEST_CASE("a loss that was fitted on the software counts more than the device's") {
  Scenario scenario = scenario_with({}, kOverlapping);
  const double usual = contended_iteration(scenario, {}).overlap;
  scenario.software.communication.overlap_contention = scenario.device.overlap_loss;
  scenario.device.overlap_loss = 0.1;
  const ContendedIteration fitted = contended_iteration(scenario, {});
  CHECK(fitted.overlap + fitted.overlap_predicted == doctest::Approx(usual).epsilon(1e-9));
}

TEST_CASE("the host keeps ahead of large layers and falls behind small ones") {
  CHECK(contended_iteration(scenario_with({}, kOverlapping), {}).launches ==
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

TEST_CASE("fully sharded layers without any loss take as long as predicted, else about as long") {
  Scenario scenario = sharded_with({});
  const ContendedIteration step = contended_iteration(scenario, {});
  check_sum(scenario, step);
  CHECK(step.links == doctest::Approx(0).epsilon(1e-9));
  // What it loses in all is never below 0, however much of that the prediction counts.
  CHECK(step.overlap_predicted > 0);
  CHECK(step.overlap + step.overlap_predicted > 0);
  CHECK(step.seconds == doctest::Approx(clock_seconds(scenario)).epsilon(0.05));
  scenario.software.communication.overlap_contention = 0;
  scenario.device.overlap_loss = 0;
  CHECK(contended_iteration(scenario, {}).seconds ==
        doctest::Approx(clock_seconds(scenario)).epsilon(1e-9));
}

TEST_CASE("its parts add up whatever the plan, and the same plan gets the same answer") {
  std::mt19937 random(3);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const Scenario scenario =
        planned("gpt3-175b", {{"plan.nodes", "48"},
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
  CHECK(error_text([&] { contended_iteration(scenario_with({}), slow); }) ==
        "--contention: plays one rank for all of a stage, so it cannot say what slow nodes or "
        "jitter do; ask for them by themselves");
  CHECK(error_text([&] {
          contended_iteration(scenario_with({{"plan.tp", "16"}, {"plan.dp", "4"}}), {});
        }) ==
        "--contention: tp 16 spans nodes of 8 devices, whose collectives within a layer are not "
        "played; tp 8 would do");
  CHECK(error_text([&] {
          contended_iteration(scenario_with({{"plan.gbs", "2048000"}}), {});
        }) ==
        "--contention: 384000 passes over stages are too many to play one by one; gbs 1397952 "
        "would do");
}

}  // namespace
}  // namespace prequel
