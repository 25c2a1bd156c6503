#include "cli/import/configs/json_configs.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/job/job_rules.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

/// A key that is read, by the rules of its name (data/import/rules.json).
struct Key {
  enum class Kind : std::uint8_t { batch, stage, enabled, flag, word };
  std::string_view path;
  Kind kind;
};
constexpr Key kReadKeys[] = {{"train_batch_size", Key::Kind::batch},
                             {"train_micro_batch_size_per_gpu", Key::Kind::batch},
                             {"gradient_accumulation_steps", Key::Kind::batch},
                             {"bf16.enabled", Key::Kind::enabled},
                             {"bfloat16.enabled", Key::Kind::enabled},
                             {"fp16.enabled", Key::Kind::enabled},
                             {"data_types.grad_accum_dtype", Key::Kind::word},
                             {"zero_optimization.stage", Key::Kind::stage},
                             {"zero_optimization.overlap_comm", Key::Kind::flag},
                             {"zero_optimization.offload_optimizer.device", Key::Kind::word},
                             {"zero_optimization.cpu_offload", Key::Kind::flag},
                             {"zero_optimization.offload_param.device", Key::Kind::word},
                             {"activation_checkpointing.partition_activations", Key::Kind::flag},
                             {"activation_checkpointing.cpu_checkpointing", Key::Kind::flag}};

std::optional<Cursor> at_path(Cursor at, std::string_view path) {
  while (true) {
    const std::size_t dot = path.find('.');
    auto next = at.find(path.substr(0, dot));
    if (!next || dot == std::string_view::npos) return next;
    at = std::move(*next);
    path.remove_prefix(dot + 1);
  }
}

std::string text_of_key(const Cursor& value, Key::Kind kind) {
  constexpr std::int64_t kLargestBatch = 1LL << 30;
  switch (kind) {
    case Key::Kind::batch: return std::to_string(value.integer(1, kLargestBatch));
    case Key::Kind::stage: return std::to_string(value.integer(0, 3));
    case Key::Kind::word: return value.text();
    default: return value.boolean() ? "true" : "false";
  }
}

/// Reads a key; "auto" leaves a value to the program that calls DeepSpeed.
void read_key(const std::string& file, const Key& key, const Cursor& value, Facts& job) {
  const std::string path(key.path);
  const OriginScope from(job, {Sureness::stated, file, path});
  const bool is_auto = value.is_text() && value.text() == "auto" && key.kind != Key::Kind::word;
  if (is_auto && key.kind == Key::Kind::flag) return;
  if (is_auto) {
    job.set_flag("open." + path);
    job.report.assumed.push_back(
        fmt::format("{}: {} is \"auto\", as the other files say it", file, path));
    return;
  }
  try {
    (void)read_by_rules(path, path, text_of_key(value, key.kind), job);
  } catch (const InputError& problem) {
    throw InputError(fmt::format("{}: {}", file, problem.what()));
  }
}

/// Tells of the keys that are not read.
void ignore_others(const Cursor& section, const std::string& path, Facts& job) {
  for (const auto& [key, value] : section.members()) {
    const std::string own = path + key + ".";
    const bool known = std::ranges::any_of(
        kReadKeys, [&](const Key& one) { return (std::string(one.path) + ".").starts_with(own); });
    if (!known) job.report.ignored.push_back("DeepSpeed's " + path + key);
    if (known && value.is_object()) ignore_others(value, own, job);
  }
}

}  // namespace

bool is_deepspeed_config(const Document& document) {
  const nlohmann::json& json = document.json();
  if (!json.is_object()) return false;
  for (const char* key : {"n_layer", "num_layers", "layers", "d_model", "n_embd"}) {
    if (json.contains(key)) return false;  // what has a shape, too, is a program's own
  }
  for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu",
                          "gradient_accumulation_steps", "zero_optimization"}) {
    if (json.contains(key)) return true;
  }
  return false;
}

void read_deepspeed_config(const Document& document, Facts& job) {
  const std::string& file = document.file();
  const OriginScope from(job, {Sureness::stated, file, "its keys"});
  job.set_flag("deepspeed");
  job.set_flag("deepspeed_config");
  job.drop("config_precision");
  for (const Key& key : kReadKeys) {
    if (const auto value = at_path(document.root(), key.path)) {
      read_key(file, key, *value, job);
    } else if (key.kind == Key::Kind::stage) {
      job.assume("plan.zero", "0",
                 fmt::format("ZeRO 0: {} names no stage of zero_optimization", file));
      job.set("zero_optimization.stage", "0");
    }
  }
  ignore_others(document.root(), "", job);
  document.finish();
  job.report.read.push_back(file + ": DeepSpeed config");
}

}  // namespace prequel
