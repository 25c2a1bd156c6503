#include "cli/import/settings/by_name.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

bool is_true(std::string_view value) {
  return value.empty() || value == "true" || value == "True" || value == "1" || value == "yes";
}

/// Formats of products, as words of any program say them.
constexpr std::pair<std::string_view, const char*> kFormatWords[] = {
    {"bf16", "bf16"},    {"bfloat16", "bf16"}, {"fp16", "fp16"},
    {"float16", "fp16"}, {"fp32", "fp32"},     {"float32", "fp32"}};

}  // namespace

std::optional<NumberByName> number_by_name(const ForeignNames& names, const std::string& flag,
                                           const std::string& value) {
  constexpr long long kMost = 1LL << 24;
  constexpr long long kMostSequences = 1LL << 15;  // more are tokens
  constexpr long long kMostOfDevice = 1LL << 10;
  const std::string name = own_name(flag);
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  const auto of = [&](const std::string& field) { return NumberByName{flag, *number, field}; };
  const std::string tokens = "batch_tokens";
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (*number == 0 && !has("zero")) return std::nullopt;
  if (const std::string* shape = names.shape_number(name)) {
    return has_part(name, names.of_parts) ? std::nullopt : std::optional(of(*shape));
  }
  if (const auto known = names.numbers.find(name); known != names.numbers.end()) {
    return of(known->second);
  }
  if (has_part(name, names.of_others)) return std::nullopt;
  const bool many = has("batch") && *number > kMostSequences;
  const bool of_device = has("micro") || has("per_");
  if (of_device && has("batch") && *number > kMostOfDevice) return std::nullopt;  // tokens
  if (many && (has("total") || has("global"))) return of(tokens);
  for (const NumberRule& rule : names.number_rules) {
    if (!std::ranges::all_of(rule.parts, has)) continue;
    const bool in_tokens = rule.field == tokens;
    if (!in_tokens && (has("token") || many)) return std::nullopt;
    return of(rule.field);
  }
  return std::nullopt;
}

namespace {

/// `--activation-fn relu`: the MLP's.
std::string activation_of(const std::string& word) {
  if (word == "gelu_new") return "gelu";
  if (word == "squared_relu" || word == "relu2") return "squared-relu";
  return named<Mlp>(word) ? word : std::string();
}

/// `--strategy deepspeed_stage_2`, `--dist_plan zero3`, `--strategy fsdp`: how states are sharded.
std::string sharding_of(const std::string& word) {
  for (const char stage : {'1', '2', '3'}) {
    for (const char* before : {"zero", "zero_", "zero-", "stage", "stage_"}) {
      if (word.find(std::string(before) + stage) != std::string::npos) return {stage};
    }
  }
  return word.find("fsdp") != std::string::npos ? "3" : "";
}

}  // namespace

std::optional<EffectByName> effect_by_name(const ForeignNames& names, const std::string& flag,
                                           const std::string& value) {
  const std::string name = own_name(flag);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const auto effect = [&](const char* field, std::string set, const char* what) {
    return EffectByName{value.empty() ? flag : flag + " " + value, field, std::move(set), what};
  };
  const bool ends = name.ends_with("checkpoint") || name.ends_with("ckpt");
  const bool repeats = ends || has("checkpointing") || has("recompute") || has("remat");
  const bool of_layers =
      has("grad") || has("activation") || has("act_") || has("recompute") || has("remat");
  if (repeats && of_layers && is_true(value)) {
    return effect("plan.recompute", "full", "recompute full");
  }
  if (has("cpu_offload") && !has("act") && is_true(value)) {
    const bool all = has("fsdp") || has("param");
    return effect("plan.offload", all ? "optimizer+params" : "optimizer",
                  all ? "offload optimizer and parameters" : "offload optimizer");
  }
  const std::string word = lower_case(value);
  const bool ways =
      has("strategy") || has("plugin") || has("dist") || has("dp_type") || name == "parallelism";
  if (std::string stage = ways ? sharding_of(word) : ""; !stage.empty()) {
    return effect("plan.zero", std::move(stage), "how states are sharded");
  }
  const bool function = name.starts_with("activation") || name.starts_with("hidden_act");
  if (std::string mlp = function ? activation_of(word) : ""; !mlp.empty()) {
    return effect("model.mlp", std::move(mlp), "the MLP");
  }
  if ((name == "no_fp16" || name == "no_bf16") && is_true(value)) {
    return effect("plan.precision", "fp32", "products in fp32");
  }
  const bool format = std::ranges::find(names.formats, name) != names.formats.end();
  for (const auto& [known, precision] : kFormatWords) {
    const bool as_switch = name == known || name == "use_" + std::string(known);
    if (!(format && word == known) && !(as_switch && is_true(value))) continue;
    return effect("plan.precision", precision, "the format of products");
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
    Count& target = *number_field(field, job);
    if (target == value) continue;
    if (!target && known && is_of_layers(field)) {
      job.report.left_out.push_back(
          fmt::format("{} {}: unknown, but may change the model, its layout or its memory; "
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
    job.report.assumed.push_back(fmt::format("{} {}: {}, by its name", spoken(field), value, flag));
  }
  job.by_names.clear();
  for (const EffectByName& one : job.effects_by_name) {
    if (!is_open(one.field, job)) {
      job.report.ignored.push_back(one.said);
      continue;
    }
    (void)assign(one.field, one.value, job);
    job.report.assumed.push_back(fmt::format("{}: {}, by its name", one.what, one.said));
  }
  job.effects_by_name.clear();
  settle_batches(job);
}

std::string own_name(std::string_view entry) {
  entry = entry.substr(0, entry.find_first_of(" ="));
  if (entry.starts_with("--")) entry.remove_prefix(2);
  entry = entry.substr(entry.rfind('.') + 1);  // npos + 1 is 0
  std::string name = lower_case(std::string(entry));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool has_part(std::string_view name, const std::vector<std::string>& parts) {
  return std::ranges::any_of(
      parts, [&](const std::string& part) { return name.find(part) != std::string_view::npos; });
}

void tell_by_names(std::size_t first, ImportedJob& job) {
  ImportReport& report = job.report;
  std::vector<std::string> others;
  for (std::size_t i = first; i < report.ignored.size(); ++i) {
    const std::string name = own_name(report.ignored[i]);
    const bool resolved = report.ignored[i].find("(not resolved)") == std::string::npos;
    if (resolved && has_part(name, job.names->telling) && !has_part(name, job.names->harmless)) {
      report.left_out.push_back(fmt::format(
          "{}: unknown, but may change the model, its layout or its memory; predicted without it",
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
