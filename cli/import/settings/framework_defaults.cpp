#include "cli/import/settings/framework_defaults.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostInBatch = 1LL << 15;  // a product of two is no overflow

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
    for (const Rule& one : job.names->framework("nanogpt").defaults) {
      if (!is_open(one.set.front().field, job) || !applies(one, job)) continue;
      take_effect(one.set, job);
      assumed += (assumed.empty() ? "" : ", ") + one.told;
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

bool is_maxtext_key(std::string_view key) {
  constexpr std::string_view kOtherKeys[] = {"per_device_batch_size", "remat_policy",
                                             "quantization"};
  if (std::ranges::find(kOtherKeys, key) != std::end(kOtherKeys)) return true;
  return (key.starts_with("ici_") || key.starts_with("dcn_")) && key.ends_with("_parallelism");
}

void assume_maxtext_defaults(ImportedJob& job) {
  const bool batch = job.says("maxtext.per_device_batch_size");
  const bool axes = std::ranges::any_of(job.all(), [](const auto& one) {
    return one.first.starts_with("maxtext.") && one.first.ends_with("_parallelism");
  });
  if (!batch && !axes) return;
  for (const char* step : {"devices", "maxtext"}) follow_rules(step, job);
}

}  // namespace prequel
