#include "cli/import/settings/framework_defaults.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/python/python_values.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/job/library.hpp"

namespace prequel {

void look_up_flavour(const Library* library, Facts& job) {
  const std::string& flavour = job.text("torchtitan.flavour");
  if (flavour.empty() || job.says("model.num_hidden_layers")) return;
  job.set("model_named", job.text("torchtitan.family") + " " + flavour);
  const std::string* model = find_name(job.names->flavours, job.text("model_named"));
  if (model == nullptr || library == nullptr) return;
  const OriginScope from(job, {Sureness::follows, {}, "the model " + *model});
  set_model(imported_model(library->open("models", *model)), job);
  job.drop("model.num_nextn_predict_layers");  // torchtitan trains without them
  job.report.read.push_back(fmt::format("{}: model {}", job.text("model_named"), *model));
}

bool is_maxtext_key(std::string_view key) {
  constexpr std::string_view kOtherKeys[] = {"per_device_batch_size", "remat_policy",
                                             "quantization"};
  if (std::ranges::find(kOtherKeys, key) != std::end(kOtherKeys)) return true;
  return (key.starts_with("ici_") || key.starts_with("dcn_")) && key.ends_with("_parallelism");
}

namespace {

/// Fills what nanoGPT's configuration leaves to train.py, and shares accumulation steps out among
/// ranks, where it is what trains.
void assume_nanogpt_defaults(Facts& job) {
  const bool config = job.is_of("nanogpt");
  const bool flags = job.says("--block-size") && job.says("--batch-size");
  if (!config && !flags) return;
  // Its own names of sizes, which no other program takes beside these.
  const bool own = flags && job.says("--num-layers") && !job.says("--vocab-size") &&
                   !job.says("--seq-length") && job.tokenizer.empty();
  if (config || own) {
    std::string assumed;
    for (const Rule& one : job.names->framework("nanogpt").defaults) {
      if (!is_open(one.set.front().field, job) || !applies(one, job)) continue;
      const OriginScope from(job, {Sureness::usual, {}, one.told + ": nanoGPT's"});
      take_effect(one.set, job);
      assumed += (assumed.empty() ? "" : ", ") + one.told;
    }
    (void)assign({"plan.attention", Assignment::How::if_open, "flash"}, job);
    if (!assumed.empty()) {
      job.report.assumed.push_back(assumed + ": nanoGPT's, as the " +
                                   (config ? "configuration does" : "flags do") + " not say it");
    }
  }
  follow_rules("nanogpt", job);
}

/// Derives degrees, batches, sharding and recomputation from MaxText's keys, with the defaults of
/// its base.yml.
void assume_maxtext_defaults(Facts& job) {
  const bool batch = job.says("maxtext.per_device_batch_size");
  const bool axes = std::ranges::any_of(
      job.with("maxtext."), [](const auto& one) { return one.first.ends_with("_parallelism"); });
  if (!batch && !axes) return;
  for (const char* step : {"devices", "maxtext"}) follow_rules(step, job);
}

/// Sets what a framework does where nothing says otherwise, and tells it.
void assume_defaults(const Framework& framework, bool is_its_own, Facts& job) {
  for (const Rule& rule : framework.defaults) {
    if (rule.set.empty() || is_its_own == !rule.when.empty() || !applies(rule, job)) continue;
    const std::string& field = rule.set.front().field;
    const bool elsewhere = (field == "plan.zero" && job.says("deepspeed")) ||
                           (field == "plan.dispatcher" && job.says("mark.flex_dispatcher"));
    if (elsewhere || !is_open(field, job)) continue;
    const OriginScope from(job, {Sureness::usual, {}, rule.told});
    take_effect(rule.set, job);
    job.report.assumed.push_back(rule.told);
  }
}

/// Frameworks that mark their own files come before those whose flags others have, too.
void assume_trainer_defaults(Facts& job) {
  const auto& frameworks = job.names->frameworks;
  for (const auto& [name, one] : frameworks) {
    if (job.says("mark.of." + name)) assume_defaults(one, true, job);
  }
  for (const auto& [name, one] : frameworks) {
    if (job.is_of(name)) assume_defaults(one, true, job);
  }
  for (const auto& [name, one] : frameworks) assume_defaults(one, false, job);
}

/// Returns which layers have experts by Python's list: `[0]*3+[1]*58`; empty for anything else.
std::vector<bool> layers_with_experts(std::string text) {
  std::vector<bool> layers;
  std::erase_if(text, [](char c) { return c == '"' || c == '\'' || c == '\n'; });
  std::vector<std::string> words;
  const auto count = [&](char letter) { return std::ranges::count(text, letter); };
  if (count('(') != count(')') || count('[') != count(']')) return {};
  try {
    const auto values = python_values("--moe-layer-freq", "layers = " + text);
    if (const auto found = values.find("layers"); found != values.end()) {
      split_words(found->second, words);
    }
  } catch (const InputError&) {
  }
  for (const std::string& word : words) {
    if (word != "0" && word != "1") return {};
    layers.push_back(word == "1");
  }
  return layers;
}

/// `--moe-layer-freq 2`: every second layer has experts; a list says it layer by layer.
void follow_expert_layers(Facts& job) {
  if (!job.says("expert_layers")) {
    if (job.says("--moe-layer-freq")) {
      job.report.left_out.emplace_back(
          "--moe-layer-freq: has no value here; predicted with experts in all layers");
    }
    return;
  }
  if (const auto every = parse_integer(job.text("expert_layers")); every && *every > 0) {
    return job.set_number("model.moe_layer_freq", *every);
  }
  const std::vector<bool> layers = layers_with_experts(job.text("expert_layers"));
  const auto first = std::ranges::find(layers, true);
  if (first != layers.end()) {
    const auto second = std::find(first + 1, layers.end(), true);
    const std::int64_t every = second == layers.end() ? 1 : second - first;
    const std::int64_t dense = first - layers.begin() - (every - 1);
    bool regular = dense >= 0;
    for (std::int64_t i = 0; i < std::ssize(layers) && regular; ++i) {
      const std::int64_t behind = i - dense;
      const bool expected = behind >= 0 && (behind + 1) % every == 0;
      regular = layers[static_cast<std::size_t>(i)] == expected;
    }
    if (regular) {
      job.set_number("model.first_k_dense_replace", dense);
      job.set_number("model.moe_layer_freq", every);
      return;
    }
  }
  job.report.left_out.push_back(
      fmt::format("--moe-layer-freq {} is not read; predicted with experts in all layers",
                  printable(job.text("expert_layers"))));
}

}  // namespace

void assume_megatron_defaults(Facts& job) {
  for (const char* step : {"idle layers", "configs", "stages by name", "batches", "batch sizes"}) {
    follow_rules(step, job);
  }
  assume_nanogpt_defaults(job);
  follow_rules("programs", job);
  if (job.is_of("torchtitan")) follow_rules("torchtitan", job);
  assume_maxtext_defaults(job);
  assume_trainer_defaults(job);
  follow_rules("trainers", job);
  follow_expert_layers(job);
  for (const char* step : {"experts", "width"}) follow_rules(step, job);
}

}  // namespace prequel
