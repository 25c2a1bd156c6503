#include "cli/import/settings/framework_defaults.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/import/job/job_completion.hpp"
#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "hw/base/words.hpp"
#include "models/axes/schedules.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostInBatch = 1LL << 15;  // a product of two is no overflow

/// A setting that nanoGPT's train.py has where nothing says another.
struct Usual {
  std::string_view flag, said, field;
  const char* value;
};
constexpr Usual kNanoGpt[] = {
    {"--num-layers", "n_layer 12", "model.num_hidden_layers", "12"},
    {"--num-attention-heads", "n_head 12", "model.num_attention_heads", "12"},
    {"--hidden-size", "n_embd 768", "model.hidden_size", "768"},
    {"--block-size", "block_size 1024", "plan.seq_len", "1024"},
    {"--batch-size", "batch_size 12", "plan.mbs", "12"},
    {"--vocab-size", "vocab_size 50304", "model.vocab_size", "50304"},
    {"--gradient-accumulation-steps", "gradient_accumulation_steps 40",
     "gradient_accumulation_steps", "40"},
    {"--bias", "bias False", "model.bias", "false"},
    {"--dtype", "dtype bfloat16", "plan.precision", "bf16"}};

}  // namespace

void assume_nanogpt_defaults(ImportedJob& job) {
  const bool config = job.is_of("nanogpt");
  const bool flags = job.says("--block-size") && job.says("--batch-size");
  if (!config && !flags) return;
  PlanRequest& plan = job.plan;
  // Its own names of sizes, which no other program takes beside these.
  const bool own = flags && job.says("--num-layers") && !job.says("--vocab-size") &&
                   !job.says("--seq-length") && job.tokenizer.empty();
  if (config || own) {
    std::string assumed;
    for (const Usual& one : kNanoGpt) {
      const bool known = one.flag == "--gradient-accumulation-steps" && plan.gbs;
      if (known || !is_open(one.field, job) || job.says("open." + std::string(one.flag))) continue;
      (void)assign(std::string(one.field), one.value, job);
      assumed += (assumed.empty() ? "" : ", ") + std::string(one.said);
    }
    plan.attention = plan.attention.value_or(AttentionKind::flash);
    if (!assumed.empty()) {
      job.report.assumed.push_back(assumed + ": nanoGPT's, as the " +
                                   (config ? "configuration does" : "flags do") + " not say it");
    }
  }
  const std::int64_t steps = job.value("gradient_accumulation_steps").value_or(0);
  if (plan.gbs || steps < 1 || steps > kMostInBatch || !plan.mbs || *plan.mbs > kMostInBatch)
    return;
  plan.gbs = *plan.mbs * steps;
  job.drop("gradient_accumulation_steps");
  job.report.assumed.push_back(fmt::format(
      "gbs {}: batch_size {} x gradient_accumulation_steps {}, which nanoGPT's train.py "
      "shares out among all ranks",
      *plan.gbs, *plan.mbs, steps));
}

void look_up_flavour(const Library* library, ImportedJob& job) {
  const std::string& flavour = job.text("torchtitan.flavour");
  if (flavour.empty() || job.model.layers) return;
  job.set("model_named", job.text("torchtitan.family") + " " + flavour);
  const std::string* model = find_name(job.names->flavours, job.text("model_named"));
  if (model == nullptr || library == nullptr) return;
  job.model = imported_model(library->open("models", *model));
  job.model.next_token_layers.reset();  // torchtitan trains without them
  job.report.read.push_back(fmt::format("{}: model {}", job.text("model_named"), *model));
}

bool is_torchtitan(const ImportedJob& job) {
  constexpr const char* kSettings[] = {"trains",    "flavour", "local_batch",
                                       "replicate", "shard",   "micro_batch"};
  return std::ranges::any_of(kSettings,
                             [&](const std::string& one) { return job.says("torchtitan." + one); });
}

void assume_torchtitan_defaults(ImportedJob& job) {
  if (is_torchtitan(job)) follow_rules("torchtitan", job);
}

namespace {

constexpr std::int64_t kMostRanks = 1LL << 20;  // of an axis

/// An axis of MaxText, and the degree of a plan that it is part of.
struct Axis {
  std::string_view name;
  std::optional<std::int64_t> PlanRequest::*degree;
  bool batch{};    ///< ranks that get other sequences
  bool sharded{};  ///< over which parameters are shared out
};
constexpr Axis kAxes[] = {{"data", nullptr, true},
                          {"fsdp", nullptr, true, true},
                          {"fsdp_transpose", nullptr, true, true},
                          {"expert", &PlanRequest::ep, true},
                          {"tensor", &PlanRequest::tp},
                          {"tensor_transpose", &PlanRequest::tp},
                          {"tensor_sequence", &PlanRequest::tp},
                          {"pipeline", &PlanRequest::pp},
                          {"context", &PlanRequest::cp},
                          {"sequence", &PlanRequest::cp}};

constexpr std::string_view kOtherKeys[] = {"per_device_batch_size", "remat_policy", "quantization"};

std::string value_of(const ImportedJob& job, const std::string& key) {
  return job.text("maxtext." + key);
}

/// The degrees of all axes within a node or between nodes; -1, of one of them, is what is left of
/// `all`. Empty where that is not known.
std::vector<std::int64_t> degrees(const ImportedJob& job, const char* where,
                                  std::string_view filled, std::optional<std::int64_t> all) {
  std::vector<std::int64_t> found;
  std::int64_t product = 1;
  std::ptrdiff_t open = -1;
  for (const Axis& axis : kAxes) {
    const auto said =
        parse_integer(value_of(job, fmt::format("{}_{}_parallelism", where, axis.name)));
    const std::int64_t degree = said.value_or(axis.name == filled ? -1 : 1);
    if (degree == -1) open = std::ssize(found);
    if (degree == 0 || degree < -1 || degree > kMostRanks || product > kMostRanks) return {};
    found.push_back(degree);
    if (degree > 0) product *= degree;
  }
  if (open < 0) return found;
  if (!all || *all % product != 0) return {};
  found[static_cast<std::size_t>(open)] = *all / product;
  return found;
}

void follow_batch(const ImportedJob& job, std::int64_t devices, PlanRequest& plan) {
  const auto each = parse_number(value_of(job, "per_device_batch_size"));
  if (!each || !(*each > 0 && *each < 1e6) || !plan.dp) return;
  const double steps = static_cast<double>(job.value("gradient_accumulation_steps").value_or(1));
  const double all = *each * static_cast<double>(devices) * steps;
  if (!plan.gbs) plan.gbs = std::llround(all);
  const double mine = all / steps / static_cast<double>(*plan.dp);
  const auto micro_batches = static_cast<double>(plan.pp.value_or(1));  // as many as stages
  if (!plan.mbs) plan.mbs = std::max<std::int64_t>(1, std::llround(mine / micro_batches));
}

void follow_recomputation(ImportedJob& job) {
  if (job.plan.recompute) return;
  const std::string policy = value_of(job, "remat_policy");
  job.plan.recompute = Recompute::full;
  if (policy.empty()) {
    job.report.assumed.emplace_back("recompute full: MaxText's, as no remat_policy says otherwise");
  } else if (const auto word = named<RecomputeModule>(policy); word && is_kept_by_name(*word)) {
    job.plan.recompute = Recompute::selective;
    job.plan.recompute_modules = WordSet<RecomputeModule>{*word};
  } else if (policy == "minimal_flash") {  // its name before
    job.plan.recompute = Recompute::selective;
    job.plan.recompute_modules = WordSet<RecomputeModule>{RecomputeModule::minimal_with_context};
  } else if (policy != "full") {
    job.report.left_out.push_back(fmt::format(
        "remat_policy {}: keeps some products; predicted with recompute full", printable(policy)));
  }
}

}  // namespace

bool is_maxtext_key(std::string_view key) {
  if (std::ranges::find(kOtherKeys, key) != std::end(kOtherKeys)) return true;
  return (key.starts_with("ici_") || key.starts_with("dcn_")) && key.ends_with("_parallelism");
}

void assume_maxtext_defaults(ImportedJob& job) {
  const bool batch = job.says("maxtext.per_device_batch_size");
  const bool axes = std::ranges::any_of(job.all(), [](const auto& one) {
    return one.first.starts_with("maxtext.") && one.first.ends_with("_parallelism");
  });
  if (!batch && !axes) return;
  follow_rules("devices", job);
  PlanRequest& plan = job.plan;
  const auto inside = degrees(job, "ici", "fsdp", job.value("devices_per_node"));
  const auto between = degrees(job, "dcn", "data", plan.nodes);
  std::int64_t devices = 1;
  std::int64_t copies = 1;
  std::int64_t shards = 1;
  if (inside.empty() || between.empty()) {
    job.report.left_out.emplace_back(
        "MaxText's degrees: an axis takes the remaining devices; --nodes N and --cluster NAME give "
        "their number");
    plan.zero = 3;
  } else {
    std::int64_t ranks = 1;  // with sequences of their own
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const std::int64_t degree = inside[i] * between[i];
      devices = std::min(devices * degree, kMostRanks);
      if (kAxes[i].batch) ranks = std::min(ranks * degree, kMostRanks);
      if (kAxes[i].sharded) shards *= degree;
      if (kAxes[i].batch && !kAxes[i].sharded) copies *= degree;
      if (kAxes[i].degree != nullptr && degree > 1) {
        plan.*kAxes[i].degree = (plan.*kAxes[i].degree).value_or(1) * degree;
      }
    }
    plan.dp = ranks;
    if (!job.value("devices")) job.set_number("devices", devices);
    if (!plan.zero) plan.zero = shards > 1 ? 3 : 0;
    if (shards > 1 && copies > 1) job.set_number("optimizer_instances", copies);
    follow_batch(job, devices, plan);
  }
  follow_recomputation(job);
  if (!plan.seq_len) {
    plan.seq_len = 2048;
    job.report.assumed.emplace_back(
        "seq_len 2048: MaxText's, as no max_target_length says otherwise");
  }
  if (!plan.precision) {
    const bool narrow = value_of(job, "quantization").find("fp8") != std::string::npos;
    plan.precision = narrow ? Precision::fp8 : Precision::bf16;
  }
}

}  // namespace prequel
