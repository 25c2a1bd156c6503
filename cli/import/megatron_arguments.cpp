#include "cli/import/megatron_arguments.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

/// Flags that take a whole number, and the field that they set.
struct NumberFlag {
  const char* flag;
  Count& (*field)(ImportedJob& job);
};
constexpr NumberFlag kNumbers[] = {
    {"--num-layers", [](ImportedJob& job) -> Count& { return job.model.layers; }},
    {"--hidden-size", [](ImportedJob& job) -> Count& { return job.model.hidden; }},
    {"--num-attention-heads", [](ImportedJob& job) -> Count& { return job.model.heads; }},
    {"--num-query-groups", [](ImportedJob& job) -> Count& { return job.query_groups; }},
    {"--num-key-value-heads", [](ImportedJob& job) -> Count& { return job.model.kv_heads; }},
    {"--kv-channels", [](ImportedJob& job) -> Count& { return job.model.head_dim; }},
    {"--ffn-hidden-size", [](ImportedJob& job) -> Count& { return job.model.ffn_hidden; }},
    {"--vocab-size", [](ImportedJob& job) -> Count& { return job.model.vocab; }},
    {"--max-position-embeddings",
     [](ImportedJob& job) -> Count& { return job.model.max_positions; }},
    {"--seq-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--micro-batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--global-batch-size", [](ImportedJob& job) -> Count& { return job.plan.gbs; }},
    {"--tensor-model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.tp; }},
    {"--pipeline-model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.pp; }},
    {"--context-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.cp; }},
    {"--num-layers-per-virtual-pipeline-stage",
     [](ImportedJob& job) -> Count& { return job.layers_per_virtual_stage; }},
    {"--num-virtual-stages-per-pipeline-rank",
     [](ImportedJob& job) -> Count& { return job.plan.vpp; }},
    {"--recompute-num-layers",
     [](ImportedJob& job) -> Count& { return job.plan.recompute_layers; }},
    {"--checkpoint-num-layers",
     [](ImportedJob& job) -> Count& { return job.plan.recompute_layers; }},
    {"--expert-model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.ep; }},
    {"--model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.tp; }},
    {"--batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--zero-stage", [](ImportedJob& job) -> Count& { return job.plan.zero; }},
    {"--nnodes", [](ImportedJob& job) -> Count& { return job.plan.nodes; }},
    {"--num-nodes", [](ImportedJob& job) -> Count& { return job.plan.nodes; }},
    {"--nproc-per-node", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--num-gpus", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--ntasks-per-node", [](ImportedJob& job) -> Count& { return job.tasks_per_node; }},
    {"--tasks-per-node", [](ImportedJob& job) -> Count& { return job.tasks_per_node; }},
};

/// Slurm's counts of devices, `8` or `a100:8` or `gpu:a100:8`, and the field that they set.
constexpr NumberFlag kDevices[] = {
    {"--gpus-per-node", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--gres", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--gpus", [](ImportedJob& job) -> Count& { return job.gpus; }},
};

/// Flags that stand alone.
struct SwitchFlag {
  const char* flag;
  void (*apply)(ImportedJob& job);
};
constexpr SwitchFlag kSwitches[] = {
    {"--swiglu", [](ImportedJob& job) { job.model.mlp = Mlp::swiglu; }},
    {"--group-query-attention", [](ImportedJob& job) { job.grouped_queries = true; }},
    {"--use-mcore-models", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--deepspeed", [](ImportedJob& job) { job.deepspeed = true; }},
    {"--no-position-embedding",
     [](ImportedJob& job) {
       if (!job.model.position) job.model.position = PositionEmbedding::none;
     }},
    {"--fp8-format", [](ImportedJob& job) { job.plan.precision = Precision::fp8; }},
    {"--fp8", [](ImportedJob& job) { job.plan.precision = Precision::fp8; }},  // in a dump
    {"--optimizer-cpu-offload", [](ImportedJob& job) { job.plan.offload = Offload::optimizer; }},
    {"--disable-bias-linear", [](ImportedJob& job) { job.model.linear_bias = false; }},
    {"--untie-embeddings-and-output-weights",
     [](ImportedJob& job) { job.model.tied_embeddings = false; }},
    {"--embed-layernorm", [](ImportedJob& job) { job.model.embedding_norm = true; }},
    {"--use-rotary-position-embeddings",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::rope; }},
    {"--fp16", [](ImportedJob& job) { job.plan.precision = Precision::fp16; }},
    {"--bf16", [](ImportedJob& job) { job.plan.precision = Precision::bf16; }},
    {"--sequence-parallel", [](ImportedJob& job) { job.plan.sequence_parallel = true; }},
    {"--use-distributed-optimizer", [](ImportedJob& job) { job.plan.zero = 1; }},
    {"--use-flash-attn", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--use-flash-attn-v2", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--checkpoint-activations", [](ImportedJob& job) { job.plan.recompute = Recompute::full; }},
    {"--recompute-activations",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--accumulate-allreduce-grads-in-fp32",
     [](ImportedJob& job) { job.plan.grad_precision = Precision::fp32; }},
    {"--grad-reduce-in-bf16", [](ImportedJob& job) { job.plan.grad_precision = Precision::bf16; }},
    {"--no-masked-softmax-fusion",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--account-for-embedding-in-pipeline-split",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }},
    {"--cpu-offload", [](ImportedJob& job) { job.plan.offload = Offload::optimizer; }},
};

bool is_switch(const std::string& flag) {
  return std::any_of(std::begin(kSwitches), std::end(kSwitches),
                     [&](const SwitchFlag& known) { return flag == known.flag; });
}

/// The vocabulary that comes with a tokenizer.
void assume_vocabulary(ImportedJob& job, std::int64_t vocab, const char* tokenizer) {
  if (job.model.vocab) return;
  job.model.vocab = vocab;
  job.report.assumed.push_back(
      fmt::format("vocab_size {}: that of the {} tokenizer", vocab, tokenizer));
}

/// Flags whose value is one of a few words; other words change nothing that is modelled.
struct WordFlag {
  const char* flag;
  const char* word;
  void (*apply)(ImportedJob& job);
};
constexpr WordFlag kWords[] = {
    {"--position-embedding-type", "alibi",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::alibi; }},
    {"--position-embedding-type", "none",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::none; }},
    {"--position-embedding-type", "rope",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::rope; }},
    {"--position-embedding-type", "learned_absolute",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::learned; }},
    {"--normalization", "RMSNorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--normalization", "LayerNorm", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--normalization", "rmsnorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--normalization", "layernorm", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--recompute-granularity", "full",
     [](ImportedJob& job) { job.plan.recompute = Recompute::full; }},
    {"--recompute-granularity", "selective",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--recompute-method", "uniform", [](ImportedJob&) {}},
    {"--recompute-method", "block", [](ImportedJob& job) { job.recomputes_first_layers = true; }},
    {"--transformer-impl", "transformer_engine",
     [](ImportedJob& job) { job.megatron_core = true; }},
    {"--attention-backend", "flash",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--pp-partition-method", "type:transformer|embedding",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }},
    {"--tokenizer-type", "GPT2BPETokenizer",
     [](ImportedJob& job) { assume_vocabulary(job, 50257, "GPT-2"); }},
    {"--tokenizer-type", "Llama2Tokenizer",
     [](ImportedJob& job) { assume_vocabulary(job, 32000, "Llama 2"); }}};

/// A Python or shell number: "2048", "220_000_000".
std::optional<long long> whole(std::string text) {
  std::erase(text, '_');
  return parse_integer(text);
}

class Arguments {
 public:
  Arguments(std::string file, ImportedJob& job) : file_(std::move(file)), job_(job) {}

  void take(std::string flag, const std::string& value) {
    std::replace(flag.begin(), flag.end(), '_', '-');
    for (const NumberFlag& known : kNumbers) {
      if (flag == known.flag) return number(flag, value, known.field(job_));
    }
    for (const SwitchFlag& known : kSwitches) {
      if (flag == known.flag) return known.apply(job_);
    }
    bool is_word_flag = false;
    for (const WordFlag& known : kWords) {
      is_word_flag = is_word_flag || flag == known.flag;
      if (flag == known.flag && value == known.word) return known.apply(job_);
    }
    for (const NumberFlag& known : kDevices) {
      if (flag == known.flag) return devices(flag, value, known.field(job_));
    }
    if (flag == "--nodes") {  // Slurm takes a range, too: at least that many
      return number(flag, value.substr(0, value.find('-', 1)), job_.plan.nodes);
    }
    if (flag == "--rampup-batch-size") {
      job_.report.assumed.emplace_back("the batch size at the end of --rampup-batch-size");
      return;
    }
    if (flag == "--num-experts") {
      Count experts;
      number(flag, value, experts);
      if (experts.value_or(1) <= 1) return;
      throw InputError(file_ + ": --num-experts " + printable(value) +
                       ": a mixture of experts; only dense decoders are modelled so far");
    }
    if (seen_.insert(flag).second) {
      job_.report.ignored.push_back(is_word_flag ? flag + " " + value : flag);
    }
  }

 private:
  /// `8`, `a100:8`, `gpu:8` or `gpu:a100:8`; other resources (`--gres=nvme`) are none of ours.
  void devices(const std::string& flag, const std::string& value, Count& field) {
    if (flag == "--gres" && !value.starts_with("gpu")) return;
    const std::size_t last = value.rfind(':');
    if (last == std::string::npos) return flag == "--gres" ? void() : number(flag, value, field);
    const std::string type = value.substr(0, last);
    const std::string name = type.substr(type.rfind(':') + 1);  // npos + 1 is 0
    if (name != "gpu") job_.device_type = name;
    number(flag, value.substr(last + 1), field);
  }

  void number(const std::string& flag, const std::string& value, Count& field) {
    if (value.find('$') != std::string::npos || value.find('`') != std::string::npos) {
      job_.report.assumed.push_back(
          fmt::format("{} is left out: {} could not be resolved", flag, printable(value)));
      return;
    }
    const auto found = whole(value);
    if (!found || *found < 0 || *found > (1LL << 30)) {
      throw InputError(fmt::format("{}: {}: expected a whole number from 0 to {}, got {}", file_,
                                   flag, 1LL << 30, in_quotes(value)));
    }
    field = *found;
  }

  std::string file_;
  ImportedJob& job_;
  std::set<std::string> seen_;
};

}  // namespace

void read_megatron_arguments(const std::string& file, const std::vector<std::string>& words,
                             ImportedJob& job) {
  Arguments arguments(file, job);
  for (std::size_t i = 0; i < words.size(); ++i) {
    // What stands alone, behind no flag that could take it, may have been flags.
    if (words[i].starts_with('$') &&
        (i == 0 || !words[i - 1].starts_with("--") || is_switch(words[i - 1]))) {
      job.report.ignored.push_back(printable(words[i]) + " (not resolved)");
    }
    if (words[i] == "-np" && i + 1 < words.size()) {  // mpirun's number of processes
      arguments.take("--gpus", words[i + 1]);
    }
    if (!words[i].starts_with("--") || words[i].size() == 2) continue;
    const std::size_t equals = words[i].find('=');
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      value = words[i + 1];
    }
    std::erase(value, '\'');  // quotes that came out of a quoted variable
    arguments.take(words[i].substr(0, equals), value);
  }
}

void assume_megatron_defaults(ImportedJob& job) {
  std::vector<std::string> assumed;
  PlanRequest& plan = job.plan;
  if (!plan.recompute) {
    plan.recompute = Recompute::none;
    assumed.emplace_back("no recomputation");
  }
  if (plan.recompute != Recompute::full) plan.recompute_layers.reset();
  if (job.recomputes_first_layers && plan.recompute_layers) {
    job.report.assumed.push_back(
        fmt::format("recomputation of all layers of a stage, not of its first {} only "
                    "(--recompute-method block)",
                    *plan.recompute_layers));
    plan.recompute_layers.reset();
  }
  if (!plan.zero && !job.deepspeed) {
    plan.zero = 0;
    assumed.emplace_back("ZeRO 0");
  }
  if (!plan.sequence_parallel) plan.sequence_parallel = false;
  if (!assumed.empty()) {
    job.report.assumed.push_back(
        fmt::format("{}: no argument asks for it", fmt::join(assumed, ", ")));
  }
  ImportedModel& model = job.model;
  if (job.grouped_queries && job.query_groups) model.kv_heads = job.query_groups;
  if (!model.ffn_hidden && model.mlp == Mlp::swiglu && model.hidden) {
    // Megatron keeps the parameters of the plain MLP: two thirds of 4h, a multiple of 64.
    const std::int64_t width = *model.hidden * 8 / 3 / 64 * 64;
    if (width > 0) model.ffn_hidden = width;
  }
}

}  // namespace prequel
