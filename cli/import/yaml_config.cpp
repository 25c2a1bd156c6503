#include "cli/import/yaml_config.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cli/import/megatron_arguments.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestText = 1u << 20;
constexpr std::size_t kMostExpanded = 4u << 20;  // with aliases, which may hold aliases
constexpr int kDeepest = 64;
constexpr int kMostReferences = 8;  // from one value to the next

/// Keys that Megatron's flags have other names for. A key may stand with its section.
struct OtherName {
  std::string_view key;
  std::string_view flag;
};
constexpr OtherName kOtherNames[] = {
    // NeMo
    {"devices", "--nproc-per-node"},
    {"encoder_seq_length", "--seq-length"},
    {"share_embeddings_and_output_weights", "--tied-embeddings"},
    {"virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank"},
    {"num_query_groups", "--num-key-value-heads"},
    {"num_moe_experts", "--num-experts"},
    {"grad_reduce_in_fp32", "--accumulate-allreduce-grads-in-fp32"},
    {"use_flash_attention", "--use-flash-attn"},
    {"optim.name", "--optimizer"},
    // Megatron-Bridge
    {"sequence_length", "--seq-length"},
    {"mixed_precision", "--precision"},
    {"seq_len", "--seq-length"},
    // GPT-NeoX
    {"zero_optimization.stage", "--zero-stage"},
    {"fp16.enabled", "--fp16"},
    {"bf16.enabled", "--bf16"},
    {"bfloat16.enabled", "--bf16"},
    {"train_batch_size", "--global-batch-size"},
    {"train_micro_batch_size_per_gpu", "--micro-batch-size"},
    {"num_kv_heads", "--num-key-value-heads"},
    {"num_gpus", "--nproc-per-node"},
    // nanotron and Hugging Face's names of a model's shape
    {"parallelism.dp", "--data-parallel-size"},
    {"parallelism.tp", "--tensor-model-parallel-size"},
    {"parallelism.pp", "--pipeline-model-parallel-size"},
    {"parallelism.context_parallel_size", "--context-parallel-size"},
    {"tokens.batch_accumulation_per_replica", "--gradient-accumulation-steps"},
    {"optimizer.zero_stage", "--zero-stage"},
    {"accumulate_grad_in_fp32", "--accumulate-allreduce-grads-in-fp32"},
    {"num_hidden_layers", "--num-layers"},
    {"intermediate_size", "--ffn-hidden-size"},
    {"tie_word_embeddings", "--tied-embeddings"},
    {"model.dtype", "--precision"},
    {"tokenizer.model", "--tokenizer-model"},
    {"tokenizer.type", "--tokenizer-type"},
    // torchtitan, as Primus writes it
    {"tensor_parallel_degree", "--tensor-model-parallel-size"},
    {"pipeline_parallel_degree", "--pipeline-model-parallel-size"},
    {"context_parallel_degree", "--context-parallel-size"},
    {"expert_parallel_degree", "--expert-model-parallel-size"},
    {"expert_tensor_parallel_degree", "--expert-tensor-parallel-size"},
    {"local_batch_size", "--micro-batch-size"},
    {"activation_checkpoint.mode", "--activation-checkpoint-mode"},
    {"activation_checkpoint.selective_ac_option", "--selective-ac-option"},
    // Trainers: axolotl and LLaMA-Factory
    {"sequence_len", "--seq-length"},
    {"cutoff_len", "--seq-length"},
    {"fsdp_config.fsdp_sharding_strategy", "--fsdp"},
};

/// Sections that say nothing of the training itself.
constexpr std::string_view kOtherSections[] = {"validation_ds", "test_ds",       "inference",
                                               "peft",          "vision_config", "wandb",
                                               "logging",       "profiling"};

/// Keys that name the model where others hold its shape.
constexpr std::string_view kModelNames[] = {"model_name_or_path", "base_model", "hf_path",
                                            "pretrained_model_name_or_path"};

bool is_off(std::string_view value) {
  return value.empty() || value == "null" || value == "~" || value == "None" || value == "false" ||
         value == "False" || value == "no" || value == "off";
}
bool is_on(std::string_view value) {
  return value == "true" || value == "True" || value == "yes" || value == "on";
}

/// Flags whose word in YAML says the contrary of a switch: `add_bias_linear: false`.
constexpr OtherName kContraries[] = {
    {"add_bias_linear", "--disable-bias-linear"},
    {"share_embeddings_and_output_weights", "--untie-embeddings-and-output-weights"},
    {"tie_word_embeddings", "--untie-embeddings-and-output-weights"},
    {"masked_softmax_fusion", "--no-masked-softmax-fusion"},
    {"add_position_embedding", "--no-position-embedding"},
    {"model.bias", "--disable-bias-linear"},
};

class Reader {
 public:
  Reader(std::string file, ImportedJob& job) : file_(std::move(file)), job_(job) {}

  void read(std::string_view text) {
    if (text.size() > kLongestText) throw InputError(file_ + ": YAML of over 1 MiB");
    try {
      const YAML::Node root = YAML::Load(std::string(text));
      if (!root.IsMap()) throw InputError(file_ + ": YAML without keys");
      collect(root, "", 0);
    } catch (const YAML::Exception& problem) {
      throw InputError(fmt::format("{}: not YAML: line {}: {}", file_, problem.mark.line + 1,
                                   printable(problem.msg)));
    }
    std::vector<std::string> words;
    for (const auto& [path, value] : values_) {
      const std::string key = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
      const bool other_file =
          key == "model" && (value.ends_with(".yaml") || value.ends_with(".yml"));
      if (other_file || std::ranges::find(kModelNames, key) != std::end(kModelNames)) {
        job_.model_named = value;
      }
      add_flag(path, key, resolved(value), words);
    }
    read_megatron_arguments(file_, words, job_);
  }

 private:
  void collect(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kDeepest) throw InputError(file_ + ": YAML nested deeper than 64 levels");
    spend(path.size() + 16);
    if (node.IsMap()) {
      for (const auto& member : node) {
        if (!member.first.IsScalar()) continue;
        std::string key = member.first.Scalar();
        std::replace(key.begin(), key.end(), '-', '_');
        if (std::ranges::find(kOtherSections, key) != std::end(kOtherSections)) continue;
        collect(member.second, path.empty() ? key : path + "." + key, depth + 1);
      }
      return;
    }
    std::string value;
    if (node.IsScalar()) value = node.Scalar();
    if (node.IsSequence()) {
      for (const auto& item : node) {
        if (item.IsScalar()) value += (value.empty() ? "" : " ") + item.Scalar();
        spend(item.IsScalar() ? item.Scalar().size() + 1 : 1);
        if (item.IsMap()) collect(item, path, depth + 1);
        if (item.IsSequence()) {  // GPT-NeoX: attention-config: [[["flash"], 32]]
          collect(item, path, depth + 1);
          const auto inner = values_.find(path);
          if (inner != values_.end()) value += (value.empty() ? "" : " ") + inner->second;
        }
      }
    }
    spend(value.size());
    if (!value.empty()) values_[path] = value;
  }

  void spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > kMostExpanded) throw InputError(file_ + ": YAML that expands to over 4 MiB");
  }

  /// `${model.hidden_size}` of OmegaConf, `${PRIMUS_TP:1}` of Primus; the text itself of others.
  [[nodiscard]] std::string resolved(std::string value) const {
    for (int i = 0; i < kMostReferences && value.starts_with("${") && value.ends_with('}'); ++i) {
      const std::string name = value.substr(2, value.size() - 3);
      const auto found = values_.find(name);
      const std::size_t colon = name.find(':');
      if (found != values_.end()) {
        value = found->second;
      } else if (colon != std::string::npos && colon + 1 < name.size() &&
                 name.find(',') == std::string::npos && name[0] != '.') {
        value = name.substr(colon + 1);
      } else {
        break;
      }
    }
    return value;
  }

  /// Whether a table's name, perhaps with sections before it, is that of the value at `path`.
  static bool is_at(const std::string& path, const std::string& key, std::string_view name) {
    return key == name || path == name || path.ends_with("." + std::string(name));
  }

  /// The flag that says the same, with what stands behind it.
  static void add_flag(const std::string& path, const std::string& key, const std::string& value,
                       std::vector<std::string>& words) {
    if (is_off(value)) {
      const auto contrary = std::ranges::find_if(
          kContraries, [&](const OtherName& one) { return is_at(path, key, one.key); });
      if (contrary != std::end(kContraries) && !value.empty() && value != "null") {
        words.emplace_back(contrary->flag);
      }
      return;
    }
    std::string flag = "--" + key;
    for (const auto& [name, other] : kOtherNames) {
      if (is_at(path, key, name)) flag = other;
    }
    words.push_back(std::move(flag));
    if (!is_on(value)) words.push_back(value);
  }

  std::string file_;
  ImportedJob& job_;
  std::map<std::string, std::string> values_;  ///< scalars by path: model.hidden_size
  std::size_t spent_{0};
};

/// The first line that is neither empty nor a comment nor the begin of a document.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && !line.starts_with('#') && line != "---") return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

bool looks_like_yaml(std::string_view text) {
  std::string_view line = first_line(text);
  if (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
  std::size_t length = 0;
  while (length < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[length])) != 0 ||
          std::string_view("_-./").find(line[length]) != std::string_view::npos)) {
    ++length;
  }
  if (length == 0) return false;
  std::string_view behind = line.substr(length);
  if (behind.starts_with('"') || behind.starts_with('\'')) behind.remove_prefix(1);
  return behind == ":" || behind.starts_with(": ");
}

bool is_neox_config(std::string_view text) {
  for (const std::string_view key : {"pipe-parallel-size", "pipe_parallel_size", "num-layers"}) {
    if (text.find(key) != std::string_view::npos) return true;
  }
  return false;
}

void read_yaml_config(const std::string& file, std::string_view text, ImportedJob& job) {
  Reader(file, job).read(text);
  if (is_neox_config(text)) job.deepspeed = job.deepspeed_config = true;  // GPT-NeoX has no other
  job.script = job.yaml_config = true;
  job.report.read.push_back(file + ": YAML configuration");
}

}  // namespace prequel
