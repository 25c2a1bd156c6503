#include "cli/import/telling_names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hw/base/csv.hpp"

namespace prequel {
namespace {

/// Parts of names that are of shapes, layouts or memory.
constexpr std::string_view kTelling[] = {"hidden_size",
                                         "hidden_dim",
                                         "hidden_width",
                                         "inner_",
                                         "ffn",
                                         "intermediate",
                                         "layer",
                                         "depth",
                                         "head",
                                         "_dim",
                                         "width",
                                         "kv_",
                                         "query_group",
                                         "expert",
                                         "moe_",
                                         "mlp_",
                                         "glu",
                                         "elu",
                                         "activation_f",
                                         "parallel_size",
                                         "parallel_degree",
                                         "max_len",
                                         "tp_size",
                                         "pp_size",
                                         "cp_size",
                                         "dp_size",
                                         "tp_deg",
                                         "pp_deg",
                                         "rmsnorm",
                                         "rms_norm",
                                         "recompute",
                                         "checkpoint_act",
                                         "gradient_checkpointing",
                                         "activation_checkpointing",
                                         "grad_checkpoint",
                                         "remat",
                                         "offload",
                                         "window",
                                         "precision",
                                         "fp8",
                                         "fp4",
                                         "zero_stage",
                                         "distributed_optim",
                                         "shard",
                                         "batch_size",
                                         "seq_len",
                                         "context_len",
                                         "attn_impl",
                                         "mamba",
                                         "ssm",
                                         "hybrid",
                                         "encoder",
                                         "vision",
                                         "quantiz",
                                         "vocab_size",
                                         "pipeline",
                                         "virtual",
                                         "freeze",
                                         "frozen",
                                         "teacher",
                                         "distill",
                                         "global_checkpoint",
                                         "sparse"};

/// And of names that have such a part and still change neither time nor memory to speak of.
constexpr std::string_view kHarmless[] = {
    "dropout",       "eps",       "init",       "loss",           "clip",     "softmax",
    "scaling",       "eval",      "logging",    "log_",           "save",     "path",
    "dir",           "file",      "dataset",    "rope",           "rotary",   "router",
    "grouped",       "permute",   "margin",     "interval",       "amax",     "persist",
    "fused",         "fusion",    "padding",    "pad_",           "val_",     "valid",
    "test_",         "inference", "divisible",  "jitter",         "capacity", "policy",
    "param_group",   "balanc",    "bias",       "to_tensorboard", "ramp",     "schedule",
    "sampler",       "kwargs",    "bucket",     "wrap",           "generat",  "liger",
    "precompute",    "debug",     "revision",   "dropless",       "mlp_impl", "affine",
    "linear_offset", "layernorm", "layer_norm", "header",         "headless", "overhead",
    "layerdrop"};

template <class Parts>
bool has_one(std::string_view name, const Parts& parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

/// The name alone, without its section: `--moe-ffn-size 4` and `model.moe_ffn_size` are one.
std::string name_of(std::string_view entry) {
  entry = entry.substr(0, entry.find_first_of(" ="));
  if (entry.starts_with("--")) entry.remove_prefix(2);
  entry = entry.substr(entry.rfind('.') + 1);  // npos + 1 is 0
  std::string name(entry);
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return name;
}

using Count = std::optional<std::int64_t>;

/// Parts that a name has, all of them, and the field that it then says.
struct Rule {
  std::string_view parts[3];
  Count& (*field)(ImportedJob& job);
  const char* what;
};
constexpr Rule kRules[] = {
    {{"batch", "token"},
     [](ImportedJob& job) -> Count& { return job.batch_tokens; },
     "tokens of a step"},
    {{"micro", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {{"per_device", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {{"per_gpu", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {{"global", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.gbs; }, "gbs"},
    {{"total", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.gbs; }, "gbs"},
    {{"batch_size"}, [](ImportedJob& job) -> Count& { return job.batch_size; }, "batch_size"},
    {{"grad", "accum", "step"},
     [](ImportedJob& job) -> Count& { return job.gradient_accumulation_steps; },
     "accumulation steps"},
    {{"seq", "len"}, [](ImportedJob& job) -> Count& { return job.plan.seq_len; }, "seq_len"},
    {{"context", "len"}, [](ImportedJob& job) -> Count& { return job.plan.seq_len; }, "seq_len"},
    {{"tensor", "parallel", "size"}, [](ImportedJob& job) -> Count& { return job.plan.tp; }, "tp"},
    {{"tensor", "parallel", "degree"},
     [](ImportedJob& job) -> Count& { return job.plan.tp; },
     "tp"},
    {{"tp_size"}, [](ImportedJob& job) -> Count& { return job.plan.tp; }, "tp"},
    {{"tp_deg"}, [](ImportedJob& job) -> Count& { return job.plan.tp; }, "tp"},
    {{"pipeline", "parallel", "degree"},
     [](ImportedJob& job) -> Count& { return job.plan.pp; },
     "pp"},
    {{"pp_size"}, [](ImportedJob& job) -> Count& { return job.plan.pp; }, "pp"},
    {{"pp_deg"}, [](ImportedJob& job) -> Count& { return job.plan.pp; }, "pp"},
    {{"cp_deg"}, [](ImportedJob& job) -> Count& { return job.plan.cp; }, "cp"},
    {{"cp_size"}, [](ImportedJob& job) -> Count& { return job.plan.cp; }, "cp"},
    {{"ep_size"}, [](ImportedJob& job) -> Count& { return job.plan.ep; }, "ep"},
    {{"zero", "stage"}, [](ImportedJob& job) -> Count& { return job.plan.zero; }, "zero"},
};

/// Parts of names that say the like of something else than the training itself.
constexpr std::string_view kOfOthers[] = {
    "eval",    "val_",    "valid",    "test",     "infer",    "rollout", "gen",   "prompt",
    "respon",  "teach",   "ref_",     "reward",   "critic",   "vision",  "image", "audio",
    "encoder", "retriev", "lora",     "warm",     "log",      "save",    "vocab", "buffer",
    "bucket",  "min_",    "virtual",  "expert",   "stride",   "factor",  "ramp",  "divisib",
    "start",   "curric",  "sample",   "original", "multiple", "batches", "num_",  "captur",
    "cache",   "partial", "interpol", "_num",     "interleav"};

/// Names of a shape's numbers, alone or behind other words: `decoder_embed_dim`. Of two that a
/// name ends with the longer one counts.
struct ShapeName {
  std::string_view ending;
  Count& (*field)(ImportedJob& job);
  const char* what;
};
constexpr Count& (*kLayers)(ImportedJob&) = [](ImportedJob& job) -> Count& {
  return job.model.layers;
};
constexpr Count& (*kHidden)(ImportedJob&) = [](ImportedJob& job) -> Count& {
  return job.model.hidden;
};
constexpr Count& (*kHeads)(ImportedJob&) = [](ImportedJob& job) -> Count& {
  return job.model.heads;
};
constexpr Count& (*kKvHeads)(ImportedJob&) = [](ImportedJob& job) -> Count& {
  return job.model.kv_heads;
};
constexpr Count& (*kFfn)(ImportedJob&) = [](ImportedJob& job) -> Count& {
  return job.model.ffn_hidden;
};
constexpr Count& (*kVocab)(ImportedJob&) = [](ImportedJob& job) -> Count& {
  return job.model.vocab;
};
constexpr ShapeName kShapeNames[] = {
    {"num_layers", kLayers, "layers"},
    {"num_layer", kLayers, "layers"},
    {"n_layers", kLayers, "layers"},
    {"n_layer", kLayers, "layers"},
    {"nlayers", kLayers, "layers"},
    {"nlayer", kLayers, "layers"},
    {"hidden_layers", kLayers, "layers"},
    {"decoder_layers", kLayers, "layers"},
    {"transformer_layers", kLayers, "layers"},
    {"layer_num", kLayers, "layers"},
    {"layers_num", kLayers, "layers"},
    {"num_blocks", kLayers, "layers"},
    {"n_blocks", kLayers, "layers"},
    {"hidden_size", kHidden, "hidden size"},
    {"hidden_dim", kHidden, "hidden size"},
    {"embed_dim", kHidden, "hidden size"},
    {"embedding_dim", kHidden, "hidden size"},
    {"emb_dim", kHidden, "hidden size"},
    {"embd", kHidden, "hidden size"},
    {"n_embed", kHidden, "hidden size"},
    {"emb_size", kHidden, "hidden size"},
    {"model_dim", kHidden, "hidden size"},
    {"dim_model", kHidden, "hidden size"},
    {"d_model", kHidden, "hidden size"},
    {"dmodel", kHidden, "hidden size"},
    {"attention_heads", kHeads, "heads"},
    {"attn_heads", kHeads, "heads"},
    {"num_heads", kHeads, "heads"},
    {"n_heads", kHeads, "heads"},
    {"n_head", kHeads, "heads"},
    {"nheads", kHeads, "heads"},
    {"nhead", kHeads, "heads"},
    {"head_num", kHeads, "heads"},
    {"heads_num", kHeads, "heads"},
    {"query_heads", kHeads, "heads"},
    {"kv_heads", kKvHeads, "heads of keys and values"},
    {"kv_head", kKvHeads, "heads of keys and values"},
    {"key_value_heads", kKvHeads, "heads of keys and values"},
    {"ffn_hidden_size", kFfn, "width of the MLP"},
    {"ffn_hidden_dim", kFfn, "width of the MLP"},
    {"ffn_embed_dim", kFfn, "width of the MLP"},
    {"ffn_dim", kFfn, "width of the MLP"},
    {"ffn_size", kFfn, "width of the MLP"},
    {"ff_dim", kFfn, "width of the MLP"},
    {"d_ff", kFfn, "width of the MLP"},
    {"intermediate_size", kFfn, "width of the MLP"},
    {"intermediate_dim", kFfn, "width of the MLP"},
    {"mlp_dim", kFfn, "width of the MLP"},
    {"mlp_hidden_size", kFfn, "width of the MLP"},
    {"feedforward_dim", kFfn, "width of the MLP"},
    {"feedforward_size", kFfn, "width of the MLP"},
    {"vocab_size", kVocab, "vocab_size"},
    {"n_vocab", kVocab, "vocab_size"},
};

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

bool is_of_shape(Count& (*field)(ImportedJob&)) {
  return field != kVocab &&
         std::ranges::any_of(kShapeNames, [&](const ShapeName& one) { return one.field == field; });
}

const ShapeName* shape_name(std::string_view name) {
  const ShapeName* longest = nullptr;
  for (const ShapeName& one : kShapeNames) {
    const bool longer = longest == nullptr || one.ending.size() > longest->ending.size();
    if (longer && has_ending(name, one.ending)) longest = &one;
  }
  return longest;
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
  const std::string name = name_of(flag);
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  if (const ShapeName* shape = shape_name(name); shape != nullptr && *number > 0) {
    if (has_one(name, kOfParts)) return std::nullopt;
    return NumberByName{flag, *number, shape->field, shape->what};
  }
  if (name == "dim" && *number > 0) return NumberByName{flag, *number, kHidden, "hidden size"};
  if (has_one(name, kOfOthers)) return std::nullopt;
  const bool batch = name.find("batch") != std::string::npos;
  const bool all =
      name.find("total") != std::string::npos || name.find("global") != std::string::npos;
  if (batch && all && *number > kMostSequences) {
    return NumberByName{flag, *number, kRules[0].field, kRules[0].what};
  }
  if (*number == 0 && name.find("zero") == std::string::npos) return std::nullopt;
  for (const Rule& rule : kRules) {
    const bool has_all = std::ranges::all_of(
        rule.parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
    if (!has_all) continue;
    const bool tokens = &rule == &kRules[0];
    if (!tokens && (name.find("token") != std::string::npos || (batch && *number > kMostSequences)))
      return std::nullopt;
    return NumberByName{flag, *number, rule.field, rule.what};
  }
  return std::nullopt;
}

std::optional<EffectByName> effect_by_name(const std::string& flag, const std::string& value) {
  const std::string name = name_of(flag);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const std::string said = value.empty() ? flag : flag + " " + value;
  const bool repeats = has("checkpointing") || has("ckpt") || has("recompute") || has("remat");
  const bool of_layers = has("grad") || has("act") || has("recompute") || has("remat");
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
  const bool format = std::ranges::find(kOfFormats, name) != std::end(kOfFormats);
  for (const auto& [word, apply] : kFormatWords) {
    const bool as_switch = name == word || name == "use_" + std::string(word);
    if (!(format && value == word) && !(as_switch && is_true(value))) continue;
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

void tell_by_names(std::size_t first, ImportReport& report) {
  std::vector<std::string> others;
  for (std::size_t i = first; i < report.ignored.size(); ++i) {
    const std::string name = name_of(report.ignored[i]);
    const bool resolved = report.ignored[i].find("(not resolved)") == std::string::npos;
    if (resolved && has_one(name, kTelling) && !has_one(name, kHarmless)) {
      report.left_out.push_back(fmt::format(
          "{}: not known, though it may be of the model, its layout or its memory; predicted "
          "without it",
          report.ignored[i]));
    } else {
      others.push_back(std::move(report.ignored[i]));
    }
  }
  report.ignored.resize(std::min(first, report.ignored.size()));
  report.ignored.insert(report.ignored.end(), std::make_move_iterator(others.begin()),
                        std::make_move_iterator(others.end()));
}

}  // namespace prequel
