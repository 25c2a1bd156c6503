/// Facts that hold for every plan, whatever runs beside what: random plans of models with experts,
/// from a fixed seed.

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
                         {"plan.overlap", "stack"}};
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

/// All of them; what does not run beside kernels is another's opposite.
WordSet<Overlapped> everything() {
  using enum Overlapped;
  return {tp, ep, grads, params, wgrad, shared_experts, p2p};
}

/// Each kind alone, all at once, and nothing.
std::vector<WordSet<Overlapped>> overlaps() {
  std::vector<WordSet<Overlapped>> sets;
  for (const Overlapped each : all_of<Overlapped>()) sets.push_back(WordSet<Overlapped>{each});
  sets.push_back(everything());
  sets.push_back(kNoneOf<Overlapped>);
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

/// Seconds in which the host launches the passes of the stage that has the most, in an iteration.
double launching(const Scenario& scenario) {
  const Step step = step_of(scenario);
  double most = 0;
  for (std::uint32_t stage = 0; stage < step.shape.stages; ++stage) {
    double sum = 0;
    for (std::uint32_t chunk = 0; chunk < step.shape.chunks; ++chunk) {
      const ChunkCosts& costs = step.blocks[chunk * step.shape.stages + stage].costs;
      sum += costs.forward.launching + costs.backward.launching;
    }
    most = std::max(most, sum);
  }
  return static_cast<double>(step.shape.micro_batches) * most;
}

TEST_CASE("no overlap is slower than none by more than what it was measured to lose") {
  RandomPlans plans(2);
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    const Scenario scenario = plans.next();
    const Prediction none = predict(scenario);
    const Software& software = scenario.software;
    // The host has more to launch for each pair of passes.
    const double loss = software.host.beside_launch_share * launching(scenario);
    for (const Overlapped each : all_of<Overlapped>()) {
      const WordSet<Overlapped> overlap{each};
      if (each >= Overlapped::no_grads) continue;
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

/// Seconds that a plan of these settings takes.
double seconds_of(const char* model, const char* software, const char* overlap,
                  std::vector<Override> settings) {
  JobRequest request;
  request.model = model;
  request.cluster = "nvidia-dgx-h100";
  request.software = software;
  request.overrides = std::move(settings);
  request.overrides.push_back({"plan.overlap", overlap});
  return predict(resolve(read_job(shipped_library(), request)).scenario).sec_per_iter.value;
}

TEST_CASE("overlap none is none, and stack is what the stack runs by itself") {
  const std::vector<Override> pipelines{
      {"plan.nodes", "8"}, {"plan.tp", "2"},  {"plan.pp", "4"},         {"plan.vpp", "2"},
      {"plan.gbs", "64"},  {"plan.mbs", "1"}, {"plan.seq_len", "4096"}, {"plan.zero", "1"}};
  const auto megatron = [&](const char* overlap) {
    return seconds_of("llama-3-8b", "megatron-core-2026", overlap, pipelines);
  };
  CHECK(megatron("stack") < megatron("no-params"));
  CHECK(megatron("no-params") < megatron("no-grads"));
  CHECK(megatron("stack") < megatron("no-p2p"));
  CHECK(megatron("no-grads") < megatron("none"));
  CHECK(megatron("none") == megatron("no-grads,no-params,no-p2p"));
  // Each collective in user buffers has a cost of its own: only those of large layers gain.
  CHECK(megatron("tp") <= megatron("stack"));
  const auto large = [](const char* overlap) {
    return seconds_of("llama-3-70b", "megatron-core-2026", overlap,
                      {{"plan.nodes", "8"},
                       {"plan.tp", "8"},
                       {"plan.pp", "4"},
                       {"plan.gbs", "64"},
                       {"plan.mbs", "1"},
                       {"plan.seq_len", "8192"},
                       {"plan.zero", "1"}});
  };
  CHECK(large("tp") < large("stack"));
  // A plan can ask for overlap that a stack does not have by itself.
  const auto older = [&](const char* overlap) {
    return seconds_of("llama-2-7b", "megatron-lm-2023", overlap, pipelines);
  };
  CHECK(older("none") == older("no-grads,no-params,no-p2p"));
  CHECK(older("stack") == older("no-grads"));
  CHECK(older("grads") < older("stack"));
}

TEST_CASE(
    "layers that are gathered one by one wait for it, and for reductions, where none overlaps") {
  const std::vector<Override> sharded{{"plan.nodes", "8"},
                                      {"plan.gbs", "64"},
                                      {"plan.mbs", "1"},
                                      {"plan.seq_len", "2048"},
                                      {"plan.zero", "3"}};
  for (const char* software : {"torchtitan-2025", "pytorch-fsdp2-2024", "nemo-automodel-2026"}) {
    CAPTURE(software);
    const auto seconds = [&](const char* overlap) {
      return seconds_of("llama-3-8b", software, overlap, sharded);
    };
    const double none = seconds("none");
    CHECK(seconds("no-params") <= none);
    CHECK(seconds("no-grads") <= none);
    CHECK(seconds("stack") < none);
  }
}

TEST_CASE("a plan without an overlap is no faster than one with it, but for what buckets cost") {
  using enum Overlapped;
  RandomPlans plans(4);
  int faster = 0;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    const Scenario scenario = plans.next();
    const double stack = predict(scenario).sec_per_iter.value;
    const double whole = communicated(with(scenario, {no_grads}));
    const double latencies = std::max(0.0, communicated(scenario) - whole);
    const double contention = scenario.software.communication.overlap_contention;
    for (const auto& off : {WordSet<Overlapped>{no_grads}, WordSet<Overlapped>{no_params},
                            WordSet<Overlapped>{no_p2p}, kNoneOf<Overlapped>}) {
      CAPTURE(cell_of(off));
      const Prediction without = predict(with(scenario, off));
      const double loss = contention * without.breakdown.dp_comm;
      CHECK(stack <= (without.sec_per_iter.value + loss + latencies) * (1 + 1e-9));
      faster += without.sec_per_iter.value < stack * (1 - 1e-9) ? 1 : 0;
    }
  }
  MESSAGE("plans that are faster without: ", faster, " of 400");
}

}  // namespace
}  // namespace prequel
