#include "cli/import/by_name.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/import/telling_names.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

/// What a number is of.
struct Field {
  Count& (*of)(ImportedJob& job);
  const char* what;  ///< for messages
};
constexpr Field kMbs{[](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"};
constexpr Field kGbs{[](ImportedJob& job) -> Count& { return job.plan.gbs; }, "gbs"};
constexpr Field kBatch{[](ImportedJob& job) -> Count& { return job.batch_size; }, "batch_size"};
constexpr Field kTokens{[](ImportedJob& job) -> Count& { return job.batch_tokens; },
                        "tokens of a step"};
constexpr Field kSteps{[](ImportedJob& job) -> Count& { return job.gradient_accumulation_steps; },
                       "accumulation steps"};
constexpr Field kSeqLen{[](ImportedJob& job) -> Count& { return job.plan.seq_len; }, "seq_len"};
constexpr Field kTp{[](ImportedJob& job) -> Count& { return job.plan.tp; }, "tp"};
constexpr Field kPp{[](ImportedJob& job) -> Count& { return job.plan.pp; }, "pp"};
constexpr Field kCp{[](ImportedJob& job) -> Count& { return job.plan.cp; }, "cp"};
constexpr Field kEp{[](ImportedJob& job) -> Count& { return job.plan.ep; }, "ep"};
constexpr Field kZeroStage{[](ImportedJob& job) -> Count& { return job.plan.zero; }, "zero"};
constexpr Field kNodeCount{[](ImportedJob& job) -> Count& { return job.plan.nodes; }, "nodes"};
constexpr Field kNodeDevices{[](ImportedJob& job) -> Count& { return job.gpus_per_node; },
                             "devices of a node"};
constexpr Field kLayerCount{[](ImportedJob& job) -> Count& { return job.model.layers; }, "layers"};
constexpr Field kHidden{[](ImportedJob& job) -> Count& { return job.model.hidden; }, "hidden size"};
constexpr Field kHeads{[](ImportedJob& job) -> Count& { return job.model.heads; }, "heads"};
constexpr Field kKvHeads{[](ImportedJob& job) -> Count& { return job.model.kv_heads; },
                         "heads of keys and values"};
constexpr Field kFfn{[](ImportedJob& job) -> Count& { return job.model.ffn_hidden; },
                     "width of the MLP"};
constexpr Field kVocab{[](ImportedJob& job) -> Count& { return job.model.vocab; }, "vocab_size"};

/// A name, and what its number is of.
struct NumberName {
  std::string_view name;
  const Field& field;
};
/// Names as they are, without others around them.
constexpr NumberName kNumberNames[] = {
    {"layers", kLayerCount},
    {"dim", kHidden},
    {"mbs", kMbs},
    {"micro_bs", kMbs},
    {"micro_bsz", kMbs},
    {"per_device_bs", kMbs},
    {"bs_per_gpu", kMbs},
    {"bs_per_device", kMbs},
    {"batch_per_gpu", kMbs},
    {"batch_per_device", kMbs},
    {"gbs", kGbs},
    {"global_bs", kGbs},
    {"global_bsz", kGbs},
    {"bs", kBatch},
    {"bsz", kBatch},
    {"train_bs", kBatch},
    {"train_batchsize", kBatch},
    {"training_batch_size", kBatch},
    {"grad_acc", kSteps},
    {"grad_accum", kSteps},
    {"accum_steps", kSteps},
    {"acc_steps", kSteps},
    {"grad_acc_steps", kSteps},
    {"gradient_accumulate_steps", kSteps},
    {"gradient_accumulate_every", kSteps},
    {"num_microbatches", kSteps},
    {"num_micro_batches", kSteps},
    {"micro_batch_num", kSteps},
    {"seq", kSeqLen},
    {"seqlen", kSeqLen},
    {"max_seqlen", kSeqLen},
    {"ctx_len", kSeqLen},
    {"n_ctx", kSeqLen},
    {"context_size", kSeqLen},
    {"tp", kTp},
    {"tensor_parallel", kTp},
    {"tensor_model_parallel", kTp},
    {"pp", kPp},
    {"pipeline_parallel", kPp},
    {"cp", kCp},
    {"context_parallel", kCp},
    {"ep", kEp},
    {"zero", kZeroStage},
    {"zero_level", kZeroStage},
    {"n_nodes", kNodeCount},
    {"nnode", kNodeCount},
    {"num_hosts", kNodeCount},
    {"gpu_per_node", kNodeDevices},
    {"n_gpus_per_node", kNodeDevices},
    {"ngpus_per_node", kNodeDevices},
    {"num_gpus_per_node", kNodeDevices},
};

/// Names of a shape's numbers, alone or behind other words: `decoder_embed_dim`. Of two that a
/// name ends with the longer one counts.
constexpr NumberName kShapeNames[] = {
    {"num_layers", kLayerCount},
    {"num_layer", kLayerCount},
    {"n_layers", kLayerCount},
    {"n_layer", kLayerCount},
    {"nlayers", kLayerCount},
    {"nlayer", kLayerCount},
    {"hidden_layers", kLayerCount},
    {"decoder_layers", kLayerCount},
    {"transformer_layers", kLayerCount},
    {"layer_num", kLayerCount},
    {"layers_num", kLayerCount},
    {"num_blocks", kLayerCount},
    {"n_blocks", kLayerCount},
    {"hidden_size", kHidden},
    {"hidden_dim", kHidden},
    {"embed_dim", kHidden},
    {"embedding_dim", kHidden},
    {"emb_dim", kHidden},
    {"embd", kHidden},
    {"n_embed", kHidden},
    {"emb_size", kHidden},
    {"model_dim", kHidden},
    {"dim_model", kHidden},
    {"d_model", kHidden},
    {"dmodel", kHidden},
    {"attention_heads", kHeads},
    {"attn_heads", kHeads},
    {"num_heads", kHeads},
    {"n_heads", kHeads},
    {"n_head", kHeads},
    {"nheads", kHeads},
    {"nhead", kHeads},
    {"head_num", kHeads},
    {"heads_num", kHeads},
    {"query_heads", kHeads},
    {"kv_heads", kKvHeads},
    {"kv_head", kKvHeads},
    {"key_value_heads", kKvHeads},
    {"ffn_hidden_size", kFfn},
    {"ffn_hidden_dim", kFfn},
    {"ffn_embed_dim", kFfn},
    {"ffn_dim", kFfn},
    {"ffn_size", kFfn},
    {"ff_dim", kFfn},
    {"d_ff", kFfn},
    {"dim_ff", kFfn},
    {"dim_feedforward", kFfn},
    {"intermediate_size", kFfn},
    {"intermediate_dim", kFfn},
    {"mlp_dim", kFfn},
    {"mlp_hidden_size", kFfn},
    {"feedforward_dim", kFfn},
    {"feedforward_size", kFfn},
    {"vocab_size", kVocab},
    {"n_vocab", kVocab},
};

/// Parts that a name has, all of them, and what its number is then of.
struct Rule {
  std::string_view parts[3];
  const Field& field;
};
constexpr Rule kRules[] = {
    {{"batch", "token"}, kTokens},
    {{"micro", "batch"}, kMbs},
    {{"per_device", "batch"}, kMbs},
    {{"per_gpu", "batch"}, kMbs},
    {{"global", "batch"}, kGbs},
    {{"total", "batch"}, kGbs},
    {{"grad", "accum", "step"}, kSteps},
    {{"seq", "len"}, kSeqLen},
    {{"context", "len"}, kSeqLen},
    {{"tensor", "parallel", "size"}, kTp},
    {{"tensor", "parallel", "degree"}, kTp},
    {{"tp_size"}, kTp},
    {{"tp_deg"}, kTp},
    {{"pipeline", "parallel", "degree"}, kPp},
    {{"pp_size"}, kPp},
    {{"pp_deg"}, kPp},
    {{"cp_deg"}, kCp},
    {{"cp_size"}, kCp},
    {{"ep_size"}, kEp},
    {{"zero", "stage"}, kZeroStage},
};

/// Parts of names that say the like of something else than the training itself.
constexpr std::string_view kOfOthers[] = {
    "eval",    "predict", "val_",    "valid",    "test",     "infer",    "rollout", "gen",
    "prompt",  "respon",  "teach",   "ref_",     "reward",   "critic",   "vision",  "image",
    "audio",   "encoder", "retriev", "lora",     "warm",     "log",      "save",    "vocab",
    "buffer",  "bucket",  "min_",    "virtual",  "expert",   "stride",   "factor",  "ramp",
    "divisib", "start",   "curric",  "sample",   "original", "multiple", "batches", "num_",
    "captur",  "cache",   "partial", "interpol", "_num",     "interleav"};

/// Parts of names whose numbers are of a part of the shape, or of another model.
constexpr std::string_view kOfParts[] = {
    "encoder", "vision",  "image", "audio",   "teach",   "draft",  "lora",  "adapter", "expert",
    "moe",     "shared",  "mtp",   "nextn",   "first",   "last",   "dense", "per_",    "checkpoint",
    "recomp",  "offload", "freez", "frozen",  "unfreez", "router", "rope",  "rotary",  "latent",
    "value_h", "qk_",     "proj",  "noop",    "prefix",  "cross",  "skip",  "reward",  "ref_",
    "critic",  "virtual", "stage", "classif", "freq",    "time_"};

/// Whether a name is all of an ending or has it behind another word.
bool has_ending(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return false;
  return name.size() == ending.size() || name[name.size() - ending.size() - 1] == '_';
}

const Field* shape_field(std::string_view name) {
  const NumberName* longest = nullptr;
  for (const NumberName& one : kShapeNames) {
    const bool longer = longest == nullptr || one.name.size() > longest->name.size();
    if (longer && has_ending(name, one.name)) longest = &one;
  }
  return longest == nullptr ? nullptr : &longest->field;
}

/// Whether a number is of the layers' shape, which known flags say whole or not at all.
bool is_of_shape(Count& (*field)(ImportedJob&)) {
  return std::ranges::any_of(kShapeNames, [&](const NumberName& one) {
    return one.field.of == field && one.field.of != kVocab.of;
  });
}

/// Names of the products' format; others are of what is stored, reduced or summed up.
constexpr std::string_view kOfFormats[] = {"dtype",          "compute_dtype",   "train_dtype",
                                           "training_dtype", "amp_dtype",       "model_dtype",
                                           "precision",      "mixed_precision", "train_precision"};

bool is_true(std::string_view value) {
  return value.empty() || value == "true" || value == "True" || value == "1" || value == "yes";
}

/// Formats of products, as words of any program say them.
struct FormatWord {
  std::string_view word;
  void (*apply)(ImportedJob& job);
};
constexpr FormatWord kFormatWords[] = {
    {"bf16", [](ImportedJob& job) { job.plan.precision = Precision::bf16; }},
    {"bfloat16", [](ImportedJob& job) { job.plan.precision = Precision::bf16; }},
    {"fp16", [](ImportedJob& job) { job.plan.precision = Precision::fp16; }},
    {"float16", [](ImportedJob& job) { job.plan.precision = Precision::fp16; }},
    {"fp32", [](ImportedJob& job) { job.plan.precision = Precision::fp32; }},
    {"float32", [](ImportedJob& job) { job.plan.precision = Precision::fp32; }}};

}  // namespace

std::optional<NumberByName> number_by_name(const std::string& flag, const std::string& value) {
  constexpr long long kMost = 1LL << 24;
  constexpr long long kMostSequences = 1LL << 15;  // more are tokens
  const std::string name = own_name(flag);
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  const auto of = [&](const Field& field) {
    return NumberByName{flag, *number, field.of, field.what};
  };
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (*number == 0 && !has("zero")) return std::nullopt;
  if (const Field* shape = shape_field(name)) {
    return has_part(name, kOfParts) ? std::nullopt : std::optional(of(*shape));
  }
  const auto* const known = std::ranges::find(kNumberNames, name, &NumberName::name);
  if (known != std::end(kNumberNames)) return of(known->field);
  if (has_part(name, kOfOthers)) return std::nullopt;
  const bool many = has("batch") && *number > kMostSequences;
  if (many && (has("total") || has("global"))) return of(kTokens);
  for (const Rule& rule : kRules) {
    if (!std::ranges::all_of(rule.parts, has)) continue;
    const bool in_tokens = &rule.field == &kTokens;
    if (!in_tokens && (has("token") || many)) return std::nullopt;
    return of(rule.field);
  }
  return std::nullopt;
}

namespace {

/// `--activation-fn relu`: the MLP's.
void (*activation_of(const std::string& word))(ImportedJob&) {
  if (word == "relu") return [](ImportedJob& job) { job.model.mlp = Mlp::relu; };
  if (word == "gelu" || word == "gelu_new")
    return [](ImportedJob& job) { job.model.mlp = Mlp::gelu; };
  if (word == "swiglu") return [](ImportedJob& job) { job.model.mlp = Mlp::swiglu; };
  if (word == "geglu") return [](ImportedJob& job) { job.model.mlp = Mlp::geglu; };
  if (word == "squared_relu" || word == "relu2") {
    return [](ImportedJob& job) { job.model.mlp = Mlp::squared_relu; };
  }
  return nullptr;
}

/// `--strategy deepspeed_stage_2`, `--dist_plan zero3`, `--strategy fsdp`: how states are sharded.
void (*sharding_of(const std::string& word))(ImportedJob&) {
  const auto says = [&](char stage) {
    for (const char* before : {"zero", "zero_", "zero-", "stage", "stage_"}) {
      const std::size_t at = word.find(std::string(before) + stage);
      if (at != std::string::npos) return true;
    }
    return false;
  };
  if (says('1')) return [](ImportedJob& job) { job.plan.zero = 1; };
  if (says('2')) return [](ImportedJob& job) { job.plan.zero = 2; };
  if (says('3') || word.find("fsdp") != std::string::npos) {
    return [](ImportedJob& job) { job.plan.zero = 3; };
  }
  return nullptr;
}

}  // namespace

std::optional<EffectByName> effect_by_name(const std::string& flag, const std::string& value) {
  const std::string name = own_name(flag);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const std::string said = value.empty() ? flag : flag + " " + value;
  const bool ends = name.ends_with("checkpoint") || name.ends_with("ckpt");
  const bool repeats = ends || has("checkpointing") || has("recompute") || has("remat");
  const bool of_layers =
      has("grad") || has("activation") || has("act_") || has("recompute") || has("remat");
  if (repeats && of_layers && is_true(value)) {
    return EffectByName{said, [](const ImportedJob& job) { return !job.plan.recompute; },
                        [](ImportedJob& job) { job.plan.recompute = Recompute::full; },
                        "recompute full"};
  }
  if (has("cpu_offload") && !has("act") && is_true(value)) {
    const bool all = has("fsdp") || has("param");
    return EffectByName{said, [](const ImportedJob& job) { return !job.plan.offload; },
                        all ? [](ImportedJob& job) { job.plan.offload = Offload::optimizer_params; }
                            : [](ImportedJob& job) { job.plan.offload = Offload::optimizer; },
                        all ? "offload optimizer and parameters" : "offload optimizer"};
  }
  const std::string word = lower_case(value);
  const bool ways = has("strategy") || has("plugin") || has("dist") || name == "parallelism";
  if (auto* const apply = ways ? sharding_of(word) : nullptr) {
    return EffectByName{said, [](const ImportedJob& job) { return !job.plan.zero; }, apply,
                        "how states are sharded"};
  }
  const bool function = name.starts_with("activation") || name.starts_with("hidden_act");
  if (auto* const apply = function ? activation_of(word) : nullptr) {
    return EffectByName{said, [](const ImportedJob& job) { return !job.model.mlp; }, apply,
                        "the MLP"};
  }
  const bool format = std::ranges::find(kOfFormats, name) != std::end(kOfFormats);
  for (const auto& [known, apply] : kFormatWords) {
    const bool as_switch = name == known || name == "use_" + std::string(known);
    if (!(format && word == known) && !(as_switch && is_true(value))) continue;
    return EffectByName{said, [](const ImportedJob& job) { return !job.plan.precision; }, apply,
                        "the format of products"};
  }
  return std::nullopt;
}

namespace {

/// Programs that say two batches count the larger one over all devices, those of JAX's meshes any.
void settle_batch_size(ImportedJob& job) {
  const Count batch = std::exchange(job.batch_size, std::nullopt);
  if (!batch) return;
  const Count& each = job.plan.mbs;
  if (job.says("--mesh-dim") || (each && *each > 0 && *batch > *each && *batch % *each == 0)) {
    if (job.plan.gbs || job.gradient_accumulation_steps) return;
    job.plan.gbs = batch;
    job.report.assumed.push_back(
        fmt::format("gbs {}: --batch-size, {}", *batch,
                    each ? "beside a micro batch" : "which is of all devices of a mesh"));
  } else if (!each) {
    job.plan.mbs = batch;
    job.report.assumed.push_back(fmt::format("mbs {}: --batch-size, as of each device", *batch));
  }
}

/// A batch that is counted in tokens.
void settle_batch_tokens(ImportedJob& job) {
  const Count tokens = std::exchange(job.batch_tokens, std::nullopt);
  const std::int64_t length = job.plan.seq_len.value_or(0);
  if (!tokens || job.plan.gbs || length < 1 || *tokens % length != 0) return;
  job.plan.gbs = *tokens / length;
  job.report.assumed.push_back(
      fmt::format("gbs {}: {} tokens of {} each", *job.plan.gbs, *tokens, length));
}

}  // namespace

void settle_batches(ImportedJob& job) {
  settle_batch_size(job);
  settle_batch_tokens(job);
}

void take_by_names(ImportedJob& job) {
  // What else a shape that is known may have by such a name is not guessed.
  const bool known = job.model.layers && job.model.hidden && job.model.heads;
  for (const auto& [flag, value, field, what] : job.by_names) {
    Count& target = field(job);
    if (target == value) continue;
    if (!target && known && is_of_shape(field)) {
      job.report.left_out.push_back(
          fmt::format("{} {}: not known, though it may be of the model, its layout or its memory; "
                      "predicted without it",
                      flag, value));
      continue;
    }
    if (target) {
      job.report.ignored.push_back(fmt::format("{} {}", flag, value));
      continue;
    }
    target = value;
    const bool shape = &target == &job.model.layers || &target == &job.model.hidden;
    job.shape_by_name = job.shape_by_name || shape;
    job.report.assumed.push_back(fmt::format("{} {}: {}, by its name", what, value, flag));
  }
  job.by_names.clear();
  for (const EffectByName& one : job.effects_by_name) {
    if (!one.is_open(job)) {
      job.report.ignored.push_back(one.said);
      continue;
    }
    one.apply(job);
    job.report.assumed.push_back(fmt::format("{}: {}, by its name", one.what, one.said));
  }
  job.effects_by_name.clear();
  settle_batches(job);
}

}  // namespace prequel
