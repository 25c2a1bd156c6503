#include "cli/import/megatron_arguments.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"

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
    {"--ds-sequence-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.cp; }},
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
    {"--num-machines", [](ImportedJob& job) -> Count& { return job.plan.nodes; }},
    {"--num-processes", [](ImportedJob& job) -> Count& { return job.gpus; }},
    {"--per-device-train-batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--max-seq-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--model-max-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--gradient-accumulation-steps",
     [](ImportedJob& job) -> Count& { return job.gradient_accumulation_steps; }},
};

/// Slurm's counts of devices, `8` or `a100:8` or `gpu:a100:8`, and the field that they set.
constexpr NumberFlag kDevices[] = {
    {"--gpus-per-node", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--gpus-per-task", [](ImportedJob& job) -> Count& { return job.gpus_per_task; }},
    {"--gres", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--gpus", [](ImportedJob& job) -> Count& { return job.gpus; }},
};

/// fp8 goes with a type for what is not in fp8.
void products_in(ImportedJob& job, Precision precision) {
  if (job.plan.precision != Precision::fp8) job.plan.precision = precision;
}

/// Megatron's own FSDP and PyTorch's, through its flags.
void shard_all(ImportedJob& job) {
  job.megatron_core = true;
  job.plan.zero = 3;
}

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
    {"--fp8-e4m3", [](ImportedJob& job) { job.plan.precision = Precision::fp8; }},
    {"--fp8-hybrid", [](ImportedJob& job) { job.plan.precision = Precision::fp8; }},
    {"--overlap-grad-reduce", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--overlap-param-gather", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--use-torch-fsdp2", shard_all},
    {"--use-custom-fsdp", shard_all},
    {"--use-megatron-fsdp", shard_all},
    {"--gradient-checkpointing", [](ImportedJob& job) { job.plan.recompute = Recompute::full; }},
    {"--optimizer-cpu-offload", [](ImportedJob& job) { job.plan.offload = Offload::optimizer; }},
    {"--disable-bias-linear", [](ImportedJob& job) { job.model.linear_bias = false; }},
    {"--untie-embeddings-and-output-weights",
     [](ImportedJob& job) { job.model.tied_embeddings = false; }},
    {"--embed-layernorm", [](ImportedJob& job) { job.model.embedding_norm = true; }},
    {"--use-rotary-position-embeddings",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::rope; }},
    {"--fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--sequence-parallel", [](ImportedJob& job) { job.plan.sequence_parallel = true; }},
    {"--use-distributed-optimizer",
     [](ImportedJob& job) {
       job.plan.zero = std::max<std::int64_t>(1, job.plan.zero.value_or(1));
     }},
    {"--use-flash-attn", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--use-flash-attn-v2", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--checkpoint-activations", [](ImportedJob& job) { job.plan.recompute = Recompute::full; }},
    {"--recompute-activations",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--accumulate-allreduce-grads-in-fp32",
     [](ImportedJob& job) { job.plan.grad_precision = Precision::fp32; }},
    {"--grad-reduce-in-bf16", [](ImportedJob& job) { job.plan.grad_precision = Precision::bf16; }},
    {"--no-masked-softmax-fusion",
     [](ImportedJob& job) {
       if (job.plan.attention != AttentionKind::flash) {
         job.plan.attention = AttentionKind::unfused;
       }
     }},
    {"--account-for-embedding-in-pipeline-split",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }},
    {"--account-for-loss-in-pipeline-split",
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

/// Megatron's own attention: its kernels but for the softmax are products.
void without_flash(ImportedJob& job) {
  if (!job.plan.attention) job.plan.attention = AttentionKind::fused_softmax;
}

/// What Megatron's own FSDP shards, where a switch asks for it.
constexpr const char* kSharding = "--data-parallel-sharding-strategy";
template <int kStage>
void shards(ImportedJob& job) {
  job.said[kSharding] = kStage;
}

/// Flags whose value is one of a few words; other words are listed as ignored.
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
    {"--attention-backend", "fused",  // cuDNN's, one kernel too
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attention-backend", "unfused",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--attention-backend", "local", without_flash},
    {"--transformer-impl", "local", without_flash},
    {"--data-parallel-sharding-strategy", "no_shard", shards<0>},
    {"--data-parallel-sharding-strategy", "optim", shards<1>},
    {"--data-parallel-sharding-strategy", "optim_grads", shards<2>},
    {"--data-parallel-sharding-strategy", "optim_grads_params", shards<3>},
    {"--mixed-precision", "bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--mixed-precision", "fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--optimizer", "adam", [](ImportedJob&) {}},
    {"--optimizer", "adamw", [](ImportedJob&) {}},
    {"--pp-partition-method", "type:transformer|embedding",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }},
    {"--tokenizer-type", "GPT2BPETokenizer",
     [](ImportedJob& job) { assume_vocabulary(job, 50257, "GPT-2"); }},
    {"--tokenizer-type", "Llama2Tokenizer",
     [](ImportedJob& job) { assume_vocabulary(job, 32000, "Llama 2"); }}};

/// Flags that change time or memory and are not modelled, and the value with which they do not.
struct UnmodelledFlag {
  const char* flag;
  const char* neutral = "";
};
constexpr UnmodelledFlag kUnmodelled[] = {
    {"--align-grad-reduce"},
    {"--checkpoint-in-cpu"},
    {"--cpu-offloading-num-layers", "0"},
    {"--cross-entropy-loss-fusion"},
    {"--ddp-bucket-size"},
    {"--DDP-impl", "local"},
    {"--decoder-first-pipeline-num-layers"},
    {"--decoder-last-pipeline-num-layers"},
    {"--defer-embedding-wgrad-compute"},
    {"--delay-grad-reduce"},
    {"--distribute-checkpointed-activations"},
    {"--distribute-saved-activations"},
    {"--empty-unused-memory-level", "0"},
    {"--enable-cuda-graph"},
    {"--exp-avg-dtype", "fp32"},
    {"--exp-avg-sq-dtype", "fp32"},
    {"--external-cuda-graph"},
    {"--fp16-lm-cross-entropy"},
    {"--fp8-param-gather"},
    {"--main-grads-dtype", "fp32"},
    {"--main-params-dtype", "fp32"},
    {"--memory-centric-tiled-linear"},
    {"--microbatch-group-size-per-virtual-pipeline-stage"},
    {"--mtp-num-layers", "0"},
    {"--no-async-tensor-model-parallel-allreduce"},
    {"--no-bias-dropout-fusion"},
    {"--no-bias-gelu-fusion"},
    {"--no-bias-swiglu-fusion"},
    {"--no-gradient-accumulation-fusion"},
    {"--no-overlap-p2p-communication"},
    {"--no-persist-layer-norm"},
    {"--no-pipeline-parallel"},
    {"--no-rope-fusion"},
    {"--no-scatter-gather-tensors-in-pipeline"},
    {"--num-distributed-optimizer-instances", "1"},
    {"--optimizer-offload-fraction", "1.0"},
    {"--overlap-p2p-communication-warmup-flush"},
    {"--overlap-param-gather-with-optimizer-step"},
    {"--partition-activations"},
    {"--pipeline-model-parallel-layout"},
    {"--pipeline-model-parallel-split-rank"},
    {"--qk-layernorm"},
    {"--recompute-modules", "core_attn"},
    {"--split-transformer-layers"},
    {"--squared-relu"},
    {"--standalone-embedding-stage"},
    {"--synchronize-each-layer"},
    {"--tp-comm-overlap"},
    {"--use-nccl-ub"},
    {"--use-precision-aware-optimizer"},
    {"--use-tp-pp-dp-mapping"},
    {"--window-size"},
};

/// Flags of what is no dense decoder, or no layout of one, that prequel could predict.
constexpr std::pair<const char*, const char*> kRefused[] = {
    {"--multi-latent-attention", "multi-head latent attention"},
    {"--is-hybrid-model", "a model with state-space layers"},
    {"--hybrid-override-pattern", "a model with state-space layers"},
    {"--hybrid-layer-pattern", "a model with state-space layers"},
};

/// A Python or shell number: "2048", "220_000_000".
std::optional<long long> whole(std::string text) {
  std::erase(text, '_');
  return parse_integer(text);
}

class Arguments {
 public:
  Arguments(std::string file, ImportedJob& job) : file_(std::move(file)), job_(job) {}

  void take(const std::string& spelt, const std::string& value) {
    std::string flag = spelt;
    std::replace(flag.begin(), flag.end(), '_', '-');
    for (const NumberFlag& known : kNumbers) {
      if (flag == known.flag) return number(flag, value, known.field(job_));
    }
    for (const SwitchFlag& known : kSwitches) {
      if (flag == known.flag) return turn(known, value);
    }
    bool is_word_flag = false;
    for (const WordFlag& known : kWords) {
      is_word_flag = is_word_flag || flag == known.flag;
      if (flag == known.flag && value == known.word) {
        job_.said.try_emplace(flag, 1);
        return known.apply(job_);
      }
    }
    for (const NumberFlag& known : kDevices) {
      if (flag == known.flag) return devices(flag, value, known.field(job_));
    }
    if (read_special(flag, value)) return;
    if (flag == "--vocab-file" && value.find("gpt2") != std::string::npos) {
      return assume_vocabulary(job_, 50257, "GPT-2");
    }
    const bool open = is_word_flag || value.find('$') != std::string::npos;
    if (seen_.insert(flag).second) {
      job_.report.ignored.push_back(open ? flag + " " + value : flag);
    }
  }

 private:
  /// Flags that are neither read nor passed over as they are.
  bool read_special(const std::string& flag, const std::string& value) {
    if (flag == "--nodes") {  // Slurm takes a range, too: at least that many
      number(flag, value.substr(0, value.find('-', 1)), job_.plan.nodes);
    } else if (flag == "--rampup-batch-size") {
      job_.report.assumed.emplace_back("the batch size at the end of --rampup-batch-size");
    } else if (flag == "--num-experts") {
      refuse_experts(value);
    } else if (flag == "--deepspeed-config") {
      job_.deepspeed = true;
      job_.deepspeed_config_file = value;
    } else if (flag == "--fsdp" && value.find("full_shard") != std::string::npos) {
      job_.plan.zero = 3;
    } else if (flag == "--fsdp" && value.find("shard_grad_op") != std::string::npos) {
      job_.plan.zero = 2;
    } else if (flag == "--fsdp" || flag == "--use-fsdp") {
      leave_out(flag, "", "says that states are sharded, not how; --zero N does");
    } else if (flag == "--config-file" || flag == "--yaml-cfg") {
      leave_out(flag, value, "is not read; what it sets has to be said by flags");
    } else {
      for (const auto& [refused, what] : kRefused) {
        if (flag == refused) {
          throw InputError(fmt::format("{}: {}: {}; only dense decoders are modelled so far", file_,
                                       flag, what));
        }
      }
      return not_modelled(flag, value);
    }
    return true;
  }

  bool not_modelled(const std::string& flag, const std::string& value) {
    const auto* const known =
        std::find_if(std::begin(kUnmodelled), std::end(kUnmodelled),
                     [&](const UnmodelledFlag& one) { return flag == one.flag; });
    const bool other_optimizer = flag == "--optimizer" && !value.empty();
    if (known == std::end(kUnmodelled) && !other_optimizer) return false;
    job_.said.try_emplace(flag, 1);
    if (other_optimizer) {
      leave_out(flag, value, "is not modelled; predicted with Adam's");
    } else if (*known->neutral == '\0' || value != known->neutral) {
      leave_out(flag, *known->neutral == '\0' ? "" : value,
                "changes time or memory and is not modelled; predicted without it");
    }
    return true;
  }

  void leave_out(const std::string& flag, const std::string& value, const char* why) {
    if (!seen_.insert(flag).second) return;
    job_.report.left_out.push_back(
        fmt::format("{}{}{} {}", flag, value.empty() ? "" : " ", printable(value), why));
  }

  void refuse_experts(const std::string& value) {
    Count experts;
    number("--num-experts", value, experts);
    if (experts.value_or(1) <= 1) return;
    throw InputError(file_ + ": --num-experts " + printable(value) +
                     ": a mixture of experts; only dense decoders are modelled so far");
  }

  /// Alone, or as Hugging Face's Trainer has it, with True or False.
  void turn(const SwitchFlag& known, const std::string& value) {
    if (value == "False" || value == "false") return;
    job_.said.try_emplace(known.flag, 1);
    if (value.ends_with(".json")) job_.deepspeed_config_file = value;  // the Trainer's --deepspeed
    known.apply(job_);
  }

  /// `8`, `a100:8`, `gpu:8` or `gpu:a100:8`, of a list with commas the first of GPUs; one device
  /// where there is no number. Other resources (`--gres=nvme`) are none of ours.
  void devices(const std::string& flag, const std::string& value, Count& field) {
    std::string mine = value;
    if (flag == "--gres") {
      mine.clear();
      for (std::size_t at = 0; at < value.size() && mine.empty();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        if (value.compare(at, 3, "gpu") == 0) mine = value.substr(at, end - at);
        at = end + 1;
      }
      if (mine.empty()) return job_.report.ignored.push_back(flag + "=" + value);
    }
    const std::size_t last = mine.rfind(':');
    std::string count = last == std::string::npos ? mine : mine.substr(last + 1);
    std::string type = last == std::string::npos ? std::string() : mine.substr(0, last);
    if (flag == "--gres" && (last == std::string::npos || is_type(count))) {
      type = mine;
      count = "1";
    }
    const std::string name = type.substr(type.rfind(':') + 1);  // npos + 1 is 0
    if (!name.empty() && name != "gpu") job_.device_type = name;
    number(flag, count, field);
  }

  /// A type of device where a number could stand: `a100` of `gpu:a100`.
  static bool is_type(const std::string& text) {
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
  }

  void number(const std::string& flag, const std::string& value, Count& field) {
    if (value.find('$') != std::string::npos || value.find('`') != std::string::npos) {
      job_.unresolved.insert(flag);
      job_.report.assumed.push_back(
          fmt::format("{} is left out: {} could not be resolved", flag, printable(value)));
      return;
    }
    if (flag == "--nproc-per-node" && (value == "gpu" || value == "auto")) {
      job_.report.assumed.push_back(flag + " " + value + ": all devices of a node");
      return;
    }
    const auto found = whole(value);
    if (!found || *found < 0 || *found > (1LL << 30)) {
      throw InputError(fmt::format("{}: {}: expected a whole number from 0 to {}, got {}", file_,
                                   flag, 1LL << 30, in_quotes(value)));
    }
    const auto before = set_by_.find(&field);
    if (before != set_by_.end() && field != *found) {
      job_.report.assumed.push_back(
          fmt::format("{} {}, which comes last, not {} {}", flag, *found, before->second, *field));
    }
    set_by_[&field] = flag;
    field = *found;
    job_.said[flag] = *found;
  }

  std::string file_;
  ImportedJob& job_;
  std::set<std::string> seen_;
  std::map<const Count*, std::string> set_by_;  ///< the flag that set a field last
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

namespace {

/// DeepSpeed's config has the last word on what flags say, too.
void follow_config(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const auto stage = job.value("zero_optimization.stage");
  if (const auto flag = job.value("--zero-stage"); stage && flag && stage != flag) {
    job.report.assumed.push_back(
        fmt::format("ZeRO {}: of DeepSpeed's config, not --zero-stage {}", *stage, *flag));
  }
  if (stage) plan.zero = stage;
  if (!job.config_precision) return;
  const char* other = job.config_precision == Precision::bf16 ? "--fp16" : "--bf16";
  if (job.says(other)) {
    job.report.assumed.push_back(fmt::format("precision {}: of DeepSpeed's config, not {}",
                                             name(*job.config_precision), other));
  }
  plan.precision = job.config_precision;
}

/// Megatron keeps gradients in the type of the parameters, of bf16 in fp32, unless told otherwise.
void assume_gradients(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  if (job.deepspeed || plan.grad_precision || !job.says("--num-layers")) return;
  if (plan.precision == Precision::fp16) {
    plan.grad_precision = Precision::fp16;
    job.report.assumed.emplace_back(
        "grad_precision fp16: no --accumulate-allreduce-grads-in-fp32 asks for more");
  } else if (plan.precision == Precision::bf16) {
    plan.grad_precision = Precision::fp32;
  }
}

void assume_query_groups(ImportedJob& job) {
  if (job.grouped_queries && !job.query_groups) {
    job.query_groups = 1;
    job.report.assumed.emplace_back(
        "num_key_value_heads 1: --group-query-attention without --num-query-groups");
  }
  if (job.grouped_queries) {
    job.model.kv_heads = job.query_groups;
  } else if (job.query_groups.value_or(1) > 1) {
    job.report.left_out.push_back(fmt::format(
        "--num-query-groups {}: has no effect without --group-query-attention", *job.query_groups));
  }
}

}  // namespace

void assume_megatron_defaults(ImportedJob& job) {
  std::vector<std::string> assumed;
  PlanRequest& plan = job.plan;
  follow_config(job);
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
  if (job.says("--use-custom-fsdp") || job.says("--use-megatron-fsdp")) {
    plan.zero = job.value(kSharding).value_or(0);
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
  if (job.says("--account-for-embedding-in-pipeline-split") !=
      job.says("--account-for-loss-in-pipeline-split")) {
    job.report.assumed.emplace_back(
        "embedding and head both count as a layer of the pipeline, though the arguments ask for "
        "one "
        "of them only");
  }
  assume_gradients(job);
  assume_query_groups(job);
  ImportedModel& model = job.model;
  if (!model.ffn_hidden && model.mlp == Mlp::swiglu && model.hidden) {
    // Megatron keeps the parameters of the plain MLP: two thirds of 4h, a multiple of 64.
    const std::int64_t width = *model.hidden * 8 / 3 / 64 * 64;
    if (width > 0) model.ffn_hidden = width;
  }
}

}  // namespace prequel
