#include "sim/what_if.hpp"

#include <doctest/doctest.h>

#include "sim/prediction.hpp"
#include "tests/error_text.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

/// The shipped 176B-class job: 48 nodes of 8 devices.
Scenario shipped_scenario() {
  JobRequest request;
  request.job = "bloom-176b-jean-zay";
  const Job job = read_job(shipped_library(), request);
  return {job.model, job.device, job.cluster, job.software,
          resolve_plan(job.plan, job.model, job.cluster, job.software).plan};
}

TEST_CASE("with all nodes at full speed, all ranks take as long as predicted") {
  const Scenario scenario = shipped_scenario();
  const StepDistribution step = what_if(scenario, {{{0, 1.0}}});
  CHECK(step.mean == doctest::Approx(predict(scenario).sec_per_iter.value).epsilon(1e-9));
  CHECK(step.p5 == step.p95);
}

TEST_CASE("a slow node of the slowest stage slows the iteration, by no more than its own loss") {
  const Scenario scenario = shipped_scenario();
  const Prediction prediction = predict(scenario);
  const double usual = prediction.sec_per_iter.value;
  const std::int64_t nodes_per_stage = scenario.plan.nodes / scenario.plan.pp;
  const auto node = static_cast<std::int64_t>(prediction.slowest_stage) * nodes_per_stage;
  const double slow = what_if(scenario, {{{node, 0.9}}}).mean;
  CHECK(slow > 1.05 * usual);
  CHECK(slow < usual / 0.9);
}

TEST_CASE("a distribution is the same for the same seed, and in order") {
  const Scenario scenario = shipped_scenario();
  const WhatIf question{{}, 0.02, 1, 10};
  const StepDistribution step = what_if(scenario, question);
  CHECK(step.mean == what_if(scenario, question).mean);
  CHECK(step.mean != what_if(scenario, {{}, 0.02, 100, 10}).mean);
  CHECK(step.p5 < step.p50);
  CHECK(step.p50 < step.p95);
  CHECK(step.p5 > predict(scenario).sec_per_iter.value);
}

TEST_CASE("a node outside the job is refused with the nearest that is in it") {
  CHECK(error_text([] {
          what_if(shipped_scenario(), {{{48, 0.9}}});
        }) == "--slow-node 48: the job runs on nodes 0 to 47; 47 would do");
}

}  // namespace
}  // namespace prequel
