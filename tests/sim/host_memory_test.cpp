#include <doctest/doctest.h>

#include <algorithm>

#include "sim/answer/prediction.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

/// Qwen3-30B on 16 H100, experts over 8 of them.
Scenario two_nodes() {
  JobRequest request;
  request.model = "qwen3-30b-a3b";
  request.cluster = "dgx-h100";
  request.software = "megatron-core-2026";
  request.overrides = {{"plan.nodes", "2"},
                       {"plan.pp", "2"},
                       {"plan.ep", "8"},
                       {"plan.gbs", "64"},
                       {"plan.seq_len", "4096"}};
  const Job job = read_job(shipped_library(), request);
  return resolve(job).scenario;
}

const StageMemory& first_stage(const Prediction& prediction) {
  return prediction.stages.front().memory;
}

TEST_CASE("a share of the moments moves to the host, and no byte is lost") {
  Scenario scenario = two_nodes();
  const StageMemory here = first_stage(predict(scenario));
  for (const double share : {0.25, 0.5, 1.0}) {
    scenario.plan.optimizer_offload = share;
    const StageMemory split = first_stage(predict(scenario));
    CHECK((split.optimizer + split.offloaded).value ==
          doctest::Approx(here.optimizer.value).epsilon(1e-12));
    // Of 12 bytes the fp32 weights stay.
    CHECK(split.offloaded.value ==
          doctest::Approx(share * 8.0 / 12.0 * here.optimizer.value).epsilon(1e-12));
    CHECK(split.activations == here.activations);
  }
}

TEST_CASE("an update takes as long as its slower part, here or on the host") {
  Scenario scenario = two_nodes();
  const auto update = [&](double share) {
    scenario.plan.optimizer_offload = share;
    return predict(scenario).breakdown.optimizer;
  };
  const double here = update(0.0);
  const double there = update(1.0);
  const double half = update(0.5);
  CHECK(there > here);  // memory of hosts is slower
  CHECK(half == doctest::Approx(std::max(here, there) / 2).epsilon(1e-9));
}

TEST_CASE("activations that wait on the host are those that leave the device") {
  Scenario scenario = two_nodes();
  const Prediction kept = predict(scenario);
  double fewer = first_stage(kept).activations.value;
  WordSet<OffloadModule> modules;
  for (const OffloadModule module : all_of<OffloadModule>()) {
    CAPTURE(name(module));
    modules.add(module);
    scenario.plan.offload_modules = modules;
    const Prediction moved = predict(scenario);
    const StageMemory& memory = first_stage(moved);
    CHECK((memory.activations + memory.offloaded).value ==
          doctest::Approx(first_stage(kept).activations.value).epsilon(1e-12));
    CHECK(memory.activations.value < fewer);
    fewer = memory.activations.value;
    CHECK(moved.sec_per_iter >= kept.sec_per_iter);
  }
}

TEST_CASE("copies to the host show where the link is slower than the kernels") {
  Scenario scenario = two_nodes();
  const double without = predict(scenario).sec_per_iter.value;
  scenario.plan.offload_modules =
      WordSet<OffloadModule>{OffloadModule::expert_fc1, OffloadModule::moe_act};
  scenario.device.host_link = {1e15};
  CHECK(predict(scenario).sec_per_iter.value == without);
  scenario.device.host_link = {1e9};
  const Prediction slow = predict(scenario);
  // Every byte out and back, as nothing of note hides it.
  const StageMemory& memory = first_stage(slow);
  CHECK(memory.offloaded.value > 0);
  scenario.device.host_link = {0.5e9};
  const double twice = predict(scenario).sec_per_iter.value;
  CHECK(twice - slow.sec_per_iter.value > 0.8 * (slow.sec_per_iter.value - without));
}

TEST_CASE("a share of the layers leaves the device, but for two on their way") {
  Scenario scenario = two_nodes();
  scenario.plan.pp = 1;
  scenario.plan.dp = 16;
  const Prediction kept = predict(scenario);
  const double whole = first_stage(kept).activations.value;
  const double layer = whole / static_cast<double>(scenario.model.layers);
  for (const std::int64_t layers : {1, 2, 12, 47}) {
    CAPTURE(layers);
    scenario.plan.offload_layers = layers;
    const Prediction moved = predict(scenario);
    const StageMemory& memory = first_stage(moved);
    const double gone = static_cast<double>(layers - std::min<std::int64_t>(layers, 2));
    CHECK(memory.offloaded.value == doctest::Approx(gone * layer).epsilon(1e-9));
    CHECK((memory.activations + memory.offloaded).value == doctest::Approx(whole).epsilon(1e-9));
    CHECK(moved.sec_per_iter >= kept.sec_per_iter);
  }
}

TEST_CASE("copies of whole layers hide behind the kernels of all of them") {
  Scenario scenario = two_nodes();
  scenario.plan.pp = 1;
  scenario.plan.dp = 16;
  scenario.device.host_link = {50e9};
  const double without = predict(scenario).sec_per_iter.value;
  const auto more = [&](std::int64_t layers) {
    scenario.plan.offload_layers = layers;
    return predict(scenario).sec_per_iter.value - without;
  };
  CHECK(more(1) == 0);
  CHECK(more(47) > 0);
}

TEST_CASE("what is computed again need not wait anywhere") {
  Scenario scenario = two_nodes();
  scenario.plan.offload_modules = WordSet<OffloadModule>{OffloadModule::core_attn};
  scenario.plan.recompute = Recompute::full;
  CHECK(first_stage(predict(scenario)).offloaded.value == 0);
}

}  // namespace
}  // namespace prequel
