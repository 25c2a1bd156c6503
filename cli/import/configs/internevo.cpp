#include "cli/import/configs/internevo.hpp"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMost = 1LL << 20;

/// Its keys, and those of others for the same. A degree is a number or a table with its size.
constexpr std::pair<std::string_view, std::string_view> kSame[] = {
    {"model.num_kv_attention_heads", "num_key_value_heads"},
    {"model.num_experts", "num_experts"},
    {"moe.top_k", "moe_router_topk"},
    {"data.seq_len", "seq_length"},
    {"data.micro_bsz", "micro_batch_size"},
    {"data.micro_num", "gradient_accumulation_steps"},
    {"parallel.pipeline", "pipeline_model_parallel_size"},
    {"parallel.pipeline.size", "pipeline_model_parallel_size"},
    {"parallel.expert", "expert_model_parallel_size"},
    {"parallel.expert.size", "expert_model_parallel_size"},
    {"parallel.sequence_parallel", "sequence_parallel"},
    {"model.num_chunks", "num_virtual_stages_per_pipeline_rank"},
};

class Names {
 public:
  Names(ConfigValues values, ImportedJob& job) : values_(std::move(values)), job_(job) {}

  ConfigValues others() {
    for (const auto& [key, flag] : {std::pair{"overlap_sync_grad", "--overlap-grad-reduce"},
                                    std::pair{"overlap_sync_param", "--overlap-param-gather"}}) {
      if (take(std::string("hybrid_zero_optimizer.") + key) == "True") job_.set(flag, "1");
    }
    // Times and sizes of messages, files and logs.
    for (const char* section : {"ckpt", "monitor", "lr_scheduler", "beta2_scheduler", "adam",
                                "loss", "grad_scaler", "hybrid_zero_optimizer"}) {
      drop(section);
    }
    block();
    width();
    precision();
    recomputation();
    tensor();
    sharding();
    for (const auto& [own, other] : kSame) {
      if (const std::string value = take(own); !value.empty()) values_[std::string(other)] = value;
    }
    if (values_["num_virtual_stages_per_pipeline_rank"] == "1") {
      values_.erase("num_virtual_stages_per_pipeline_rank");
    }
    std::erase_if(values_, [](const auto& one) { return one.second.empty(); });
    return std::move(values_);
  }

 private:
  std::string take(std::string_view key) {
    const auto found = values_.find(std::string(key));
    if (found == values_.end()) return {};
    std::string value = std::move(found->second);
    values_.erase(found);
    return value;
  }
  void drop(std::string_view section) {
    std::erase_if(values_, [&](const auto& one) {
      return one.first.starts_with(section) && one.first.substr(section.size(), 1) == ".";
    });
  }
  [[nodiscard]] std::optional<long long> whole(std::string_view key) const {
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? std::nullopt : parse_integer(found->second);
  }
  /// A number, or a table with its size.
  [[nodiscard]] std::optional<long long> degree(const std::string& key) const {
    const auto number = whole(key);
    return number ? number : whole(key + ".size");
  }
  void leave_out(std::string text) { job_.report.left_out.push_back(std::move(text)); }

  /// All its models have the block of Llama; some have a bias on queries, keys and values.
  void block() {
    const std::string type = take("model_type");
    values_["llama_block"] = "True";
    if (type == "INTERNLM" || type.starts_with("QWEN2") || take("model.qkv_bias") == "True") {
      values_["qkv_bias"] = "True";
    }
    for (const char* key : {"model.use_swiglu", "model.no_bias", "model.norm_type"}) {
      const std::string value = take(key);
      if (std::string_view(key) == "model.norm_type" && value == "layernorm") {
        values_["normalization"] = "LayerNorm";
      }
    }
    for (const char* key :
         {"parallel.weight.overlap", "parallel.weight.memory_pool", "model.embed_split_hidden",
          "model.parallel_output", "model.embed_grad_scale", "parallel.pipeline.mode",
          "model.apply_post_layer_norm", "parallel.pipeline.interleaved_overlap"}) {
      (void)take(key);
    }
  }

  /// A share of the hidden size, in full multiples of 256.
  void width() {
    const std::string said = take("model.mlp_ratio");
    const auto ratio = parse_number(said);
    const auto hidden = whole("model.hidden_size");
    if (!ratio || !hidden || *hidden < 1 || *hidden > kMost || !(*ratio > 0 && *ratio < 100))
      return;
    const auto multiple = whole("model.multiple_of").value_or(256);
    (void)take("model.multiple_of");
    if (multiple < 1 || multiple > kMost) return;
    const auto width = static_cast<std::int64_t>(static_cast<double>(*hidden) * *ratio);
    values_["ffn_hidden_size"] = std::to_string((width + multiple - 1) / multiple * multiple);
  }

  void precision() {
    const std::string type = take("model.dtype");
    if (type.empty()) return;
    const std::string name = type.substr(type.rfind('.') + 1);  // npos + 1 is 0
    values_["precision"] = name == "tf32" || name == "float32" ? "fp32" : name;
  }

  /// All layers of a stage, none, or a share of them.
  void recomputation() {
    const std::string said = take("model.checkpoint");
    if (said == "False" || said == "0" || said.empty()) return;
    values_["checkpoint_activations"] = "True";
    const auto share = parse_number(said);
    const auto layers = whole("model.num_layers");
    if (!share || *share >= 1 || !layers || *layers > kMost) return;
    const auto chunks = std::max(1LL, degree("parallel.pipeline").value_or(1)) *
                        std::max(1LL, whole("model.num_chunks").value_or(1));
    const double each = static_cast<double>(*layers) / static_cast<double>(chunks);
    job_.plan.recompute_layers = std::max(1LL, std::llround(each * *share));
    job_.set_flag("recomputes_first_layers");
  }

  /// Megatron's way, with sequences shared out or not, or `isp`: sequences shared out alone, and
  /// weights by themselves.
  void tensor() {
    const std::string mode = take("parallel.tensor.mode");
    std::string ranks = take("parallel.tensor.size");
    if (ranks.empty()) ranks = take("parallel.tensor");
    const auto weight = degree("parallel.weight").value_or(1);
    (void)take("parallel.weight");
    (void)take("parallel.weight.size");
    if (mode != "isp") {
      if (!ranks.empty()) values_["tensor_model_parallel_size"] = ranks;
      if (mode == "msp" || mode == "fsp") values_["sequence_parallel"] = "True";
      return;
    }
    if (!ranks.empty()) values_["context_parallel_size"] = ranks;
    if (parse_integer(ranks).value_or(1) > 1) values_["cp_comm_type"] = "a2a";
    if (weight <= 1) return;
    values_["zero_stage"] = "3";
    job_.set_number("sharding_ranks", weight);
    leave_out(
        fmt::format("parallel.weight {}: weights shared out apart from states; predicted as "
                    "ZeRO 3 shards both",
                    weight));
  }

  /// ZeRO 1 over as many ranks, or over all of them.
  void sharding() {
    const auto ranks = degree("parallel.zero1");
    const bool all = take("parallel.zero1.fsdp") == "True";
    (void)take("parallel.zero1");
    (void)take("parallel.zero1.size");
    if (values_.contains("zero_stage")) return;
    values_["zero_stage"] = all ? "3" : ranks == 1 ? "0" : "1";
    if (!ranks || *ranks <= 0) job_.plan.sharding_group = ShardingGroup::all;
    if (ranks && *ranks > 1 && *ranks < kMost) job_.set_number("sharding_ranks", *ranks);
  }

  ConfigValues values_;
  ImportedJob& job_;
};

}  // namespace

bool is_internevo(const ConfigValues& values) {
  return values.contains("data.micro_num") || values.contains("parallel.zero1.size") ||
         values.contains("parallel.zero1");
}

ConfigValues from_internevo(ConfigValues values, ImportedJob& job) {
  job.set_flag("mark.of.internevo");
  return Names(std::move(values), job).others();
}

}  // namespace prequel
