#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"
#include "sim/step/plan_memory.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

/// Qwen3-30B on 16 H100, experts over 8 of them.
Scenario offloading_nodes() {
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
  Scenario scenario = offloading_nodes();
  const StageMemory here = first_stage(predict(scenario));
  for (const double share : {0.25, 0.5, 1.0}) {
    scenario.plan.optimizer_offload = share;
    const StageMemory split = first_stage(predict(scenario));
    CHECK((split.optimizer + split.offloaded).value ==
          doctest::Approx(here.optimizer.value).epsilon(1e-12));
    // The fp32 weights, 4 of 12 bytes, stay.
    CHECK(split.offloaded.value ==
          doctest::Approx(share * 8.0 / 12.0 * here.optimizer.value).epsilon(1e-12));
    CHECK(split.activations == here.activations);
  }
}

TEST_CASE("an update takes as long as its slower part, here or on the host") {
  Scenario scenario = offloading_nodes();
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
  Scenario scenario = offloading_nodes();
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
    // Sums of more durations are rounded otherwise.
    CHECK(moved.sec_per_iter.value >= kept.sec_per_iter.value * (1 - 1e-12));
  }
}

TEST_CASE("copies to the host show where the link is slower than the kernels") {
  Scenario scenario = offloading_nodes();
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
  Scenario scenario = offloading_nodes();
  scenario.plan.pp = 1;
  scenario.plan.dp = 16;
  const Prediction kept = predict(scenario);
  const double whole = first_stage(kept).activations.value;
  const double layer = weights_of(scenario)[Part::first_block].kept;
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
  Scenario scenario = offloading_nodes();
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

TEST_CASE("copies that are hidden and those that are not are all copies there are") {
  Scenario scenario = offloading_nodes();
  scenario.plan.offload_modules = WordSet<OffloadModule>{OffloadModule::expert_fc1};
  const auto copied = [&](double rate) {
    scenario.device.host_link = {rate};
    const Prediction prediction = predict(scenario);
    return std::pair(prediction.hidden.offload, prediction.breakdown.offload);
  };
  const auto [hidden, none] = copied(64e9);
  CHECK(none == 0);
  CHECK(hidden > 0);
  for (const double slower : {2.0, 8.0, 32.0, 128.0}) {
    CAPTURE(slower);
    const auto [still_hidden, exposed] = copied(64e9 / slower);
    CHECK(still_hidden + exposed == doctest::Approx(slower * hidden).epsilon(1e-9));
  }
  CHECK(copied(64e9 / 128.0).second > copied(64e9 / 128.0).first);
}

TEST_CASE("a copy starts with its pass, and the next pass of the stage waits for it") {
  Scenario scenario = offloading_nodes();
  scenario.plan.offload_modules = WordSet<OffloadModule>::all();
  scenario.device.host_link = {2e9};
  const Timeline played = timeline(scenario);
  std::map<std::pair<StageStream, int>, std::vector<const TimelineSlice*>> streams;
  for (const TimelineSlice& slice : played.slices) {
    streams[{slice.stream, slice.stage}].push_back(&slice);
  }
  for (int stage = 0; stage < 2; ++stage) {
    CAPTURE(stage);
    const auto& passes = streams[{StageStream::compute, stage}];
    for (const auto& [copy_stream, kind] : {std::pair(StageStream::offload, TaskKind::forward),
                                            std::pair(StageStream::reload, TaskKind::backward)}) {
      const auto& copies = streams[{copy_stream, stage}];
      REQUIRE_FALSE(copies.empty());
      std::size_t copy = 0;
      for (std::size_t i = 0; i < passes.size(); ++i) {
        if (traits(passes[i]->kind).part_of != kind || passes[i]->bucket > 0) continue;
        REQUIRE(copy < copies.size());
        CHECK(copies[copy]->micro_batch == passes[i]->micro_batch);
        CHECK(copies[copy]->start_s <= passes[i]->start_s);
        std::size_t next = i + 1;
        while (next < passes.size() && passes[next]->bucket > 0) ++next;
        if (next < passes.size()) CHECK(passes[next]->start_s >= copies[copy]->end_s);
        ++copy;
      }
      CHECK(copy == copies.size());
    }
  }
}

TEST_CASE("what is computed again need not wait anywhere") {
  Scenario scenario = offloading_nodes();
  scenario.plan.offload_modules = WordSet<OffloadModule>{OffloadModule::core_attn};
  scenario.plan.recompute = Recompute::full;
  CHECK(first_stage(predict(scenario)).offloaded.value == 0);
}

}  // namespace
}  // namespace prequel
