#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/plan/plan.hpp"
#include "sim/answer/prediction.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// A GPT of Zero Bubble Pipeline Parallelism (arXiv 2401.10241), with embedding and head as layers.
struct Gpt {
  int layers, hidden, heads;
  int nodes, stages, chunks, mbs;
};

/// Seconds of a step on A100 with Megatron-LM of 2023; of one chunk a stage by 1F1B.
double seconds(const Gpt& gpt, int micro_batches, int chunks) {
  JobRequest request;
  request.model = "gpt.json";
  request.model_text = fmt::format(
      R"({{"schema": "prequel/model/1", "name": "gpt", "num_hidden_layers": {}, "hidden_size": {},
           "num_attention_heads": {}, "num_key_value_heads": {}, "intermediate_size": {},
           "vocab_size": 50304, "max_position_embeddings": 1024, "mlp": "gelu",
           "position": "learned", "norm": "layer_norm", "bias": true,
           "tie_word_embeddings": false, "origin": "arXiv 2401.10241"}})",
      gpt.layers, gpt.hidden, gpt.heads, gpt.heads, 4 * gpt.hidden);
  request.cluster = "azure-ndm-a100-v4";
  request.software = "megatron-lm-2023";
  const auto say = [&](const char* field, const std::string& value) {
    request.overrides.push_back({std::string("plan.") + field, value, {}});
  };
  say("nodes", std::to_string(gpt.nodes));
  say("tp", "1");
  say("pp", std::to_string(gpt.stages));
  say("vpp", std::to_string(chunks));
  say("schedule", chunks > 1 ? "interleaved-1f1b" : "1f1b");
  say("mbs", std::to_string(gpt.mbs));
  say("gbs", std::to_string(gpt.mbs * micro_batches));
  say("seq_len", "1024");
  say("zero", "0");
  say("precision", "bf16");
  say("recompute", "none");
  say("attention", "fused-softmax");
  say("stage_split", "embedding-as-layer");
  return predict(resolve(read_job(shipped_library(), request)).scenario).sec_per_iter.value;
}

TEST_CASE("interleaving gains over 1F1B what was published for A100, in a node and across two") {
  const Gpt small{22, 2304, 24, 1, 8, 3, 6};
  const Gpt middle{30, 4096, 32, 1, 8, 4, 3};
  const Gpt large{46, 5120, 40, 2, 16, 3, 1};
  struct Row {
    const Gpt& gpt;
    int micro_batches;
    double gain;  ///< samples a second over those of 1F1B, as remembered of the paper
  };
  const std::vector<Row> rows{{small, 24, 1.110},  {small, 32, 1.072},  {small, 64, 1.061},
                              {middle, 24, 1.146}, {middle, 32, 1.103}, {middle, 64, 1.072},
                              {large, 48, 1.100},  {large, 64, 1.053},  {large, 128, 1.012}};
  double sum = 0;
  for (const auto& [gpt, micro_batches, gain] : rows) {
    CAPTURE(gpt.layers);
    CAPTURE(micro_batches);
    const double predicted =
        seconds(gpt, micro_batches, 1) / seconds(gpt, micro_batches, gpt.chunks);
    CHECK(std::abs(predicted - gain) < 0.04);
    sum += std::abs(predicted - gain);
  }
  CHECK(sum / static_cast<double>(rows.size()) < 0.025);
}

TEST_CASE("a transfer that the host waits for takes its bytes and the wait") {
  const auto with = [](const std::string& wait) {
    return predict(shipped_scenario({{"software.communication.p2p_wait_s", wait, {}}}))
        .sec_per_iter.value;
  };
  const double none = with("0"), some = with("0.001"), more = with("0.002");
  CHECK(some > none);
  // Once stages wait for each other, each millisecond of a transfer costs the step as much.
  CHECK(more - some == doctest::Approx(some - none).epsilon(0.01));
}

}  // namespace
}  // namespace prequel
