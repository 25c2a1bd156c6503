/// What holds of every plan, whatever runs beside what: random plans of models with experts, from
/// a fixed seed.

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"
#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"
#include "sim/answer/what_if.hpp"
#include "sim/step/step.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

class RandomPlans {
 public:
  explicit RandomPlans(std::uint32_t seed) : random_(seed) {}

  /// The next legal one without overlap.
  Scenario next() {
    for (;;) {
      if (std::optional<Scenario> found = draw()) return *found;
    }
  }

 private:
  std::optional<Scenario> draw() {
    JobRequest request;
    request.model =
        pick({"qwen3-30b-a3b", "deepseek-v2-lite", "gpt-oss-20b", "mixtral-8x7b", "llama-3-8b"});
    request.cluster = pick({"nvidia-dgx-h100", "nvidia-dgx-gb200", "nvidia-dgx-b200"});
    request.software = pick({"megatron-core-2026", "megatron-core-moe-2026", "megatron-core-2025"});
    const char* schedule = pick({"1f1b", "1f1b", "interleaved-1f1b", "interleaved-1f1b", "gpipe",
                                 "zb-h1", "dualpipe-v", "zb-v"});
    const bool two = schedule == std::string("interleaved-1f1b");
    request.overrides = {{"plan.nodes", pick({"4", "8"})},
                         {"plan.tp", pick({"1", "1", "2", "4"})},
                         {"plan.pp", pick({"1", "2", "4"})},
                         {"plan.cp", pick({"1", "1", "1", "2"})},
                         {"plan.ep", pick({"1", "2", "4", "8"})},
                         {"plan.schedule", schedule},
                         {"plan.vpp", two ? "2" : "1"},
                         {"plan.mbs", pick({"1", "2"})},
                         {"plan.gbs", pick({"128", "512", "768"})},
                         {"plan.seq_len", "4096"},
                         {"plan.zero", pick({"0", "1"})},
                         {"plan.dispatcher", pick({"alltoall", "deepep", "hybridep"})},
                         {"plan.router_balance", pick({"forced", "dropped"})},
                         {"plan.cuda_graphs", pick({"none", "attn", "full"})},
                         {"plan.recompute", pick({"none", "selective", "full"})},
                         {"plan.overlap", "none"}};
    try {
      const Job job = read_job(shipped_library(), request);
      return resolve(job).scenario;
    } catch (const InputError&) {
      return {};
    }
  }

  const char* pick(std::initializer_list<const char*> values) {
    return values.begin()[random_() % values.size()];
  }

  std::mt19937 random_;
};

Scenario with(Scenario scenario, WordSet<Overlapped> overlap) {
  scenario.plan.overlap = overlap;
  return scenario;
}

/// Each kind alone, and all at once.
std::vector<WordSet<Overlapped>> overlaps() {
  std::vector<WordSet<Overlapped>> sets;
  for (const Overlapped each : all_of<Overlapped>()) sets.push_back(WordSet<Overlapped>{each});
  sets.push_back(WordSet<Overlapped>::all());
  return sets;
}

void check_accounts(const Prediction& prediction) {
  for (const StagePrediction& stage : prediction.stages) {
    const Breakdown& time = stage.time;
    CHECK(time.total() == doctest::Approx(prediction.sec_per_iter.value).epsilon(1e-9));
    for (const double part :
         {time.compute, time.recompute, time.tp_comm, time.cp_comm, time.ep_comm, time.pp_comm,
          time.dp_comm, time.offload, time.bubble, time.optimizer, time.host, time.other}) {
      CHECK(part >= -1e-9 * prediction.sec_per_iter.value);
    }
  }
}

TEST_CASE("with every overlap on, stages' accounts add up, and all readers agree") {
  RandomPlans plans(1);
  WhatIf full_speed;
  full_speed.slow_nodes = {{0, 1.0}};
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    Scenario scenario = plans.next();
    if (i % 3 == 0) {  // over links that hide some copies and some not
      scenario.plan.offload_modules = WordSet<OffloadModule>::all();
      scenario.device.host_link = scenario.device.host_link / (1.0 + i);
    }
    check_accounts(predict(scenario));
    for (const auto& overlap : overlaps()) {
      CAPTURE(cell_of(overlap));
      const Scenario overlapped = with(scenario, overlap);
      const Prediction prediction = predict(overlapped);
      check_accounts(prediction);
      const auto seconds = doctest::Approx(prediction.sec_per_iter.value).epsilon(1e-9);
      CHECK(what_if(overlapped, full_speed).mean == seconds);
      CHECK(timeline(overlapped).seconds == seconds);
      CHECK(iteration_time(overlapped, price_layers(overlapped)).value == seconds);
    }
  }
}

TEST_CASE("no overlap is slower than none by more than what it was measured to lose") {
  RandomPlans plans(2);
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    const Scenario scenario = plans.next();
    const Prediction none = predict(scenario);
    const Software& software = scenario.software;
    // Exchanges are stretched, and the host has more to launch for each pair of passes.
    double exchanged = 0;
    for (const StagePrediction& stage : none.stages) {
      exchanged = std::max(exchanged, stage.time.ep_comm);
    }
    const double pairs = static_cast<double>(scenario.plan.micro_batches() *
                                             std::max<std::int64_t>(2, scenario.plan.vpp));
    const double loss = software.communication.beside_stretch * exchanged +
                        software.host.beside_per_chunk.value * pairs;
    for (const auto& overlap : overlaps()) {
      CAPTURE(cell_of(overlap));
      CHECK(predict(with(scenario, overlap)).sec_per_iter.value <=
            (none.sec_per_iter.value + loss) * (1 + 1e-9));
    }
  }
}

/// Seconds of the stage that reduces gradients and gathers parameters the longest, as if alone.
double communicated(const Scenario& scenario) {
  const Step step = step_of(scenario);
  const double times = std::max(1U, step.shape.buckets);
  double most = 0;
  for (std::uint32_t stage = 0; stage < step.shape.stages; ++stage) {
    double sum = 0;
    for (std::uint32_t chunk = 0; chunk < step.shape.chunks; ++chunk) {
      sum += times * step.durations.at(TaskKind::gradient_reduce, stage, chunk);
      sum += times * step.durations.at(TaskKind::parameter_gather, stage, chunk);
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST_CASE(
    "gradients beside the backward lose their buckets' latencies and what kernels do, at most") {
  RandomPlans plans(3);
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    Scenario scenario = plans.next();
    CommunicationStack& stack = scenario.software.communication;
    stack.gradient_overlap = GradientOverlap::none;
    const Prediction none = predict(scenario);
    const double whole = communicated(scenario);
    stack.gradient_overlap = GradientOverlap::always;
    const Prediction always = predict(scenario);
    const double latencies = std::max(0.0, communicated(scenario) - whole);
    check_accounts(always);
    const double loss = stack.overlap_contention * none.breakdown.dp_comm;
    CHECK(always.sec_per_iter.value <= (none.sec_per_iter.value + loss + latencies) * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace prequel
