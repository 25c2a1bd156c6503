#include "cli/import/settings/by_name.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/import/job/number_fields.hpp"
#include "cli/import/settings/telling_names.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

/// Parts that a name has, all of them, and what its number is then of.
struct Rule {
  std::string_view parts[3];
  std::string_view field;  ///< its word
};
constexpr std::string_view kTokens = "batch_tokens";
constexpr Rule kRules[] = {
    {{"batch", "token"}, kTokens},
    {{"micro", "batch"}, "mbs"},
    {{"per_device", "batch"}, "mbs"},
    {{"per_gpu", "batch"}, "mbs"},
    {{"per_gpu", "bsz"}, "mbs"},
    {{"per_device", "bsz"}, "mbs"},
    {{"per_rank", "batch"}, "mbs"},
    {{"global", "batch"}, "gbs"},
    {{"total", "batch"}, "gbs"},
    {{"grad", "accum", "step"}, "gradient_accumulation_steps"},
    {{"seq", "len"}, "seq_len"},
    {{"context", "len"}, "seq_len"},
    {{"tensor", "parallel", "size"}, "tp"},
    {{"tensor", "parallel", "degree"}, "tp"},
    {{"tp_size"}, "tp"},
    {{"tp_deg"}, "tp"},
    {{"pipeline", "parallel", "degree"}, "pp"},
    {{"pipeline", "group", "size"}, "pp"},
    {{"data", "group", "size"}, "dp"},
    {{"pp_size"}, "pp"},
    {{"pp_deg"}, "pp"},
    {{"cp_deg"}, "cp"},
    {{"cp_size"}, "cp"},
    {{"ep_size"}, "ep"},
    {{"zero", "stage"}, "zero"},
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

std::optional<NumberByName> number_by_name(const ForeignNames& names, const std::string& flag,
                                           const std::string& value) {
  constexpr long long kMost = 1LL << 24;
  constexpr long long kMostSequences = 1LL << 15;  // more are tokens
  constexpr long long kMostOfDevice = 1LL << 10;
  const std::string name = own_name(flag);
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  const auto of = [&](std::string_view word) {
    return NumberByName{flag, *number, number_field(word)};
  };
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (*number == 0 && !has("zero")) return std::nullopt;
  if (const std::string* shape = names.shape_number(name)) {
    return has_part(name, kOfParts) ? std::nullopt : std::optional(of(*shape));
  }
  if (const auto known = names.numbers.find(name); known != names.numbers.end()) {
    return of(known->second);
  }
  if (has_part(name, kOfOthers)) return std::nullopt;
  const bool many = has("batch") && *number > kMostSequences;
  const bool of_device = has("micro") || has("per_");
  if (of_device && has("batch") && *number > kMostOfDevice) return std::nullopt;  // tokens
  if (many && (has("total") || has("global"))) return of(kTokens);
  for (const Rule& rule : kRules) {
    if (!std::ranges::all_of(rule.parts, has)) continue;
    const bool in_tokens = rule.field == kTokens;
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
  const bool ways =
      has("strategy") || has("plugin") || has("dist") || has("dp_type") || name == "parallelism";
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
  if ((name == "no_fp16" || name == "no_bf16") && is_true(value)) {
    return EffectByName{said, [](const ImportedJob& job) { return !job.plan.precision; },
                        [](ImportedJob& job) { job.plan.precision = Precision::fp32; },
                        "products in fp32"};
  }
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
  const char* flag = job.says("--train-batch-size") ? "--train-batch-size" : "--batch-size";
  if (job.says("--mesh-dim") || (each && *each > 0 && *batch > *each && *batch % *each == 0)) {
    if (job.plan.gbs || job.gradient_accumulation_steps.value_or(1) > 1) return;
    job.plan.gbs = batch;
    job.report.assumed.push_back(
        fmt::format("gbs {}: {}, {}", *batch, flag,
                    each ? "beside a micro batch" : "which is of all devices of a mesh"));
  } else if (!each) {
    job.plan.mbs = batch;
    job.report.assumed.push_back(fmt::format("mbs {}: {}, as of each device", *batch, flag));
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
  // Where the shape is known, a further number with such a name is not guessed.
  const bool known = job.model.layers && job.model.hidden && job.model.heads;
  for (const auto& [flag, value, field] : job.by_names) {
    Count& target = field->of(job);
    if (target == value) continue;
    if (!target && known && is_of_layers(*field)) {
      job.report.left_out.push_back(
          fmt::format("{} {}: not known, though it may be of the model, its layout or its memory; "
                      "predicted without it",
                      flag, value));
      continue;
    }
    // The launcher's own flags say more of the number of all devices.
    const bool devices = &target == &job.gpus && (job.gpus_per_node || job.plan.nodes || job.tasks);
    if (target || devices) {
      job.report.ignored.push_back(fmt::format("{} {}", flag, value));
      continue;
    }
    target = value;
    const bool shape = &target == &job.model.layers || &target == &job.model.hidden;
    job.shape_by_name = job.shape_by_name || shape;
    job.report.assumed.push_back(fmt::format("{} {}: {}, by its name", field->what, value, flag));
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
