/// Facts of how kernels run and what is kept: compiled or eager, by names of tensors, in
/// which format tokens travel.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "models/plan/layout.hpp"
#include "sim/answer/prediction.hpp"
#include "sim/price/pricing.hpp"
#include "tests/error_text.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

Prediction asked_mode(const char* model, const char* software, const Settings& more) {
  Settings settings{{"plan.nodes", "1"}, {"plan.gbs", "16"}, {"plan.seq_len", "8192"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return predict(planned(model, "nvidia-dgx-h100", software, settings));
}

TEST_CASE("eager PyTorch is as much slower than compiled layers as was measured, and keeps more") {
  // torchtitan, December 2024: 8B on 8 H100, 2.843 s without torch.compile and 2.457 s with it.
  const auto with = [](const char* compile) {
    return asked_mode(
        "llama3-8b", "torchtitan-2024",
        {{"plan.mbs", "2"}, {"plan.recompute", "selective"}, {"plan.compile", compile}});
  };
  const Prediction eager = with("false");
  const Prediction compiled = with("true");
  CHECK(eager.sec_per_iter.value / compiled.sec_per_iter.value ==
        doctest::Approx(2.84346 / 2.45748).epsilon(0.02));
  const auto all_kept = [](const char* compile) {
    return asked_mode("llama3-8b", "torchtitan-2024",
                      {{"plan.mbs", "1"}, {"plan.recompute", "none"}, {"plan.compile", compile}});
  };
  CHECK(all_kept("false").peak_memory.value > all_kept("true").peak_memory.value);
  CHECK(asked_mode("llama3-8b", "torchtitan-2024",
                   {{"plan.mbs", "2"}, {"plan.recompute", "selective"}})
            .sec_per_iter.value == compiled.sec_per_iter.value);
}

TEST_CASE("what JAX keeps by name costs time and memory between none and all of a layer") {
  const auto with = [](const char* recompute, const char* kept) {
    Settings settings{{"plan.mbs", "1"}, {"plan.recompute", recompute}};
    if (*kept) settings.push_back({"plan.recompute_modules", kept});
    return asked_mode("llama3-8b", "maxtext-2025", settings);
  };
  // From the policy that keeps least to the one that keeps most.
  std::vector<Prediction> predictions{with("full", "")};
  for (const char* kept :
       {"save_qkv_proj", "save_dot_except_mlp", "minimal", "minimal_with_context"}) {
    predictions.push_back(with("selective", kept));
  }
  predictions.push_back(with("none", ""));
  for (std::size_t i = 1; i < predictions.size(); ++i) {
    CAPTURE(i);
    CHECK(predictions[i].sec_per_iter.value < predictions[i - 1].sec_per_iter.value);
    CHECK(predictions[i].peak_memory.value > predictions[i - 1].peak_memory.value);
  }
  CHECK(error_text([&] { (void)with("selective", "minimal norm"); }) != "");
  CHECK(error_text([&] {
          (void)with("selective", "minimal layernorm");
        }).find("it alone would do") != std::string::npos);
}

TEST_CASE("stages of a hybrid that a search deals by cost beat stages of as many sublayers") {
  Scenario scenario = planned("nemotron-3-super-120b-a12b", "nvidia-dgx-h100", "nemo-26.06",
                              {{"plan.nodes", "32"},
                               {"plan.tp", "2"},
                               {"plan.pp", "8"},
                               {"plan.ep", "32"},
                               {"plan.gbs", "512"},
                               {"plan.seq_len", "8192"},
                               {"plan.sequence_parallel", "true"}});
  const double even = predict(scenario).sec_per_iter.value;
  double best = even;
  for (const std::string& layout : balanced_layouts(scenario.model, scenario.plan.pp)) {
    scenario.plan.layout = layout;
    best = std::min(best, predict(scenario).sec_per_iter.value);
  }
  CHECK(best < 0.95 * even);
}

TEST_CASE("tokens that travel in fp8 take half the bytes there, and as many back") {
  const auto exchange = [](const char* format) {
    const Scenario scenario = planned("deepseek-v3", "deepseek-h800", "hai-llm-2024",
                                      {{"plan.nodes", "32"},
                                       {"plan.pp", "4"},
                                       {"plan.ep", "32"},
                                       {"plan.gbs", "1024"},
                                       {"plan.seq_len", "4096"},
                                       {"plan.dispatch_precision", format}});
    Part part = Part::head;
    each_kind(LayerKinds(scenario.model), [&](Part of, LayerKind kind) {
      if (kind.has_experts()) part = of;
    });
    std::array<double, 2> seconds{};  // there, back
    for (const KernelCost& kernel :
         price_kernels(layer_question(scenario.plan, scenario.cluster), scenario)[part].forward) {
      if (kernel.name == "dispatch") seconds[0] += kernel.seconds;
      if (kernel.name == "combine") seconds[1] += kernel.seconds;
    }
    return seconds;
  };
  const auto narrow = exchange("fp8");
  const auto wide = exchange("bf16");
  CHECK(narrow[0] < 0.6 * wide[0]);
  CHECK(narrow[1] == wide[1]);
  CHECK(error_text([] {
          (void)asked_mode("mixtral-8x7b", "megatron-core-2026",
                           {{"plan.ep", "8"}, {"plan.dispatch_precision", "fp8"}});
        }).find("precision fp8 or dispatch_precision bf16 would do") != std::string::npos);
}

TEST_CASE("a stack's default for another kind of model is left out, not refused") {
  CHECK_NOTHROW((void)planned(
      "gpt-39b", "deepseek-h800", "hai-llm-2024",
      {{"plan.nodes", "4"}, {"plan.pp", "4"}, {"plan.gbs", "64"}, {"plan.seq_len", "2048"}}));
}

TEST_CASE("exchanges that a stack cannot run beside passes are not, and keep no more") {
  const Settings plan{{"plan.nodes", "8"},     {"plan.tp", "1"},  {"plan.pp", "4"},
                      {"plan.ep", "8"},        {"plan.mbs", "1"}, {"plan.gbs", "64"},
                      {"plan.seq_len", "4096"}};
  Settings beside = plan;
  beside.push_back({"plan.overlap", "ep"});
  const Prediction without = predict(planned("qwen3-30b-a3b", "dgx-h100", "torchtitan-2025", plan));
  const Prediction with = predict(planned("qwen3-30b-a3b", "dgx-h100", "torchtitan-2025", beside));
  CHECK(with.sec_per_iter.value == without.sec_per_iter.value);
  CHECK(with.peak_memory.value == without.peak_memory.value);
}

TEST_CASE("exchanges beside passes cost the host by what these launch, not by their number") {
  // Half the chunks of twice the layers launch as much.
  const auto host = [](const char* vpp) {
    const Prediction found = predict(planned("qwen3-30b-a3b", "dgx-h100", "nemo-26.02",
                                             {{"plan.nodes", "8"},
                                              {"plan.pp", "4"},
                                              {"plan.vpp", vpp},
                                              {"plan.ep", "16"},
                                              {"plan.mbs", "1"},
                                              {"plan.gbs", "256"},
                                              {"plan.seq_len", "4096"},
                                              {"plan.dispatcher", "deepep"},
                                              {"plan.overlap", "ep"}}));
    double most = 0;
    for (const StagePrediction& stage : found.stages) most = std::max(most, stage.time.host);
    return most;
  };
  CHECK(host("2") == doctest::Approx(host("4")).epsilon(0.05));
}

}  // namespace
}  // namespace prequel
