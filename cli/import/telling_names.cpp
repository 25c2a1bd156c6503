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
                                         "num_layers",
                                         "n_layer",
                                         "layers_per",
                                         "num_heads",
                                         "n_head",
                                         "head_dim",
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
                                         "sparse"};

/// And of names that have such a part and still change neither time nor memory to speak of.
constexpr std::string_view kHarmless[] = {
    "dropout",      "eps",       "init",      "loss",           "clip",     "softmax",
    "scaling",      "eval",      "logging",   "log_",           "save",     "path",
    "dir",          "file",      "dataset",   "rope",           "rotary",   "router",
    "grouped",      "permute",   "margin",    "interval",       "amax",     "persist",
    "fused",        "fusion",    "padding",   "pad_",           "val_",     "valid",
    "test_",        "inference", "divisible", "jitter",         "capacity", "policy",
    "param_group",  "balanc",    "bias",      "to_tensorboard", "ramp",     "schedule",
    "sampler",      "kwargs",    "bucket",    "wrap",           "generat",  "liger",
    "precompute",   "debug",     "revision",  "dropless",       "mlp_impl", "affine",
    "linear_offset"};

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
    {{"micro", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {{"per_device", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {{"per_gpu", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.mbs; }, "mbs"},
    {{"global", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.gbs; }, "gbs"},
    {{"total", "batch"}, [](ImportedJob& job) -> Count& { return job.plan.gbs; }, "gbs"},
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
    {{"tp_degree"}, [](ImportedJob& job) -> Count& { return job.plan.tp; }, "tp"},
    {{"pipeline", "parallel", "degree"},
     [](ImportedJob& job) -> Count& { return job.plan.pp; },
     "pp"},
    {{"pp_size"}, [](ImportedJob& job) -> Count& { return job.plan.pp; }, "pp"},
    {{"pp_degree"}, [](ImportedJob& job) -> Count& { return job.plan.pp; }, "pp"},
    {{"cp_size"}, [](ImportedJob& job) -> Count& { return job.plan.cp; }, "cp"},
    {{"ep_size"}, [](ImportedJob& job) -> Count& { return job.plan.ep; }, "ep"},
    {{"zero", "stage"}, [](ImportedJob& job) -> Count& { return job.plan.zero; }, "zero"},
};

/// Parts of names that say the like of something else than the training itself.
constexpr std::string_view kOfOthers[] = {
    "eval",    "val_",    "valid",   "test",     "infer",    "rollout", "gen",     "prompt",
    "respon",  "teach",   "ref_",    "reward",   "critic",   "vision",  "image",   "audio",
    "encoder", "retriev", "lora",    "warm",     "log",      "save",    "vocab",   "buffer",
    "bucket",  "min_",    "virtual", "expert",   "stride",   "factor",  "ramp",    "divisib",
    "start",   "curric",  "sample",  "original", "multiple", "token",   "batches", "num_",
    "captur",  "cache",   "partial", "interpol"};

}  // namespace

std::optional<NumberByName> number_by_name(const std::string& flag, const std::string& value) {
  constexpr long long kMost = 1LL << 24;
  constexpr long long kMostSequences = 1LL << 15;  // more are tokens
  const std::string name = name_of(flag);
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > kMost || has_one(name, kOfOthers)) return std::nullopt;
  const bool batch = name.find("batch") != std::string::npos;
  if (batch && *number > kMostSequences) return std::nullopt;
  if (*number == 0 && name.find("zero") == std::string::npos) return std::nullopt;
  for (const Rule& rule : kRules) {
    const bool all = std::ranges::all_of(
        rule.parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
    if (all) return NumberByName{flag, *number, rule.field, rule.what};
  }
  return std::nullopt;
}

void take_by_names(ImportedJob& job) {
  for (const auto& [flag, value, field, what] : job.by_names) {
    Count& target = field(job);
    if (target == value) continue;
    if (target) {
      job.report.ignored.push_back(fmt::format("{} {}", flag, value));
      continue;
    }
    target = value;
    job.report.assumed.push_back(fmt::format("{} {}: {}, by its name", what, value, flag));
  }
  job.by_names.clear();
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
