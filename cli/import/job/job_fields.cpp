#include "cli/import/job/job_fields.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "cli/import/job/imported_job.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/schedules.hpp"

namespace prequel {
namespace {

using How = Assignment::How;

template <class Job, class Visit>
void each_own_field(Job& job, const Visit& visit) {
  visit("devices", job.gpus);
  visit("devices_per_node", job.gpus_per_node);
  visit("devices_per_task", job.gpus_per_task);
  visit("tasks", job.tasks);
  visit("tasks_per_node", job.tasks_per_node);
  visit("batch_size", job.batch_size);
  visit("batch_tokens", job.batch_tokens);
  visit("gradient_accumulation_steps", job.gradient_accumulation_steps);
  visit("layers_per_chunk", job.layers_per_virtual_stage);
  visit("first_stage_layers", job.first_stage_layers);
  visit("last_stage_layers", job.last_stage_layers);
  visit("optimizer_instances", job.optimizer_instances);
  visit("sharding_ranks", job.sharding_ranks);
  visit("sharding_strategy", job.marks.sharding_strategy);
  visit("query_groups", job.query_groups);
  visit("padded_vocab", job.padded_vocab);
  visit("vocab_multiple", job.vocab_multiple);
  visit("extra_vocab", job.extra_vocab);
  visit("ffn_multiple", job.ffn_multiple);
  visit("ffn_halves", job.ffn_halves);
  visit("ffn_ratio", job.ffn_ratio);
  visit("shared_experts", job.shared_experts);
  visit("torchtitan.local_batch", job.torchtitan.local_batch);
  visit("torchtitan.micro_batch", job.torchtitan.micro_batch);
  visit("torchtitan.micro_batches", job.torchtitan.micro_batches);
  visit("torchtitan.replicate", job.torchtitan.replicate);
  visit("torchtitan.shard", job.torchtitan.shard);
  visit("torchtitan.layers_per_stage", job.torchtitan.layers_per_stage);
  visit("moments.first", job.moments[0]);
  visit("moments.second", job.moments[1]);
  visit("graphs", job.graphs);
  visit("graphed", job.graphed);
  visit("keeps_gathers", job.keeps_gathers);
  visit("software", job.software);
  visit("launch", job.launch);
  visit("capacity_factor", job.capacity_factor);
  visit("config_precision", job.config_precision);
  visit("flex_backend", job.marks.flex_backend);
  visit("flex_dispatcher", job.marks.flex_dispatcher);
  visit("fully_sharded", job.marks.fully_sharded);
  visit("own_attention", job.marks.own_attention);
  visit("grouped_queries", job.grouped_queries);
  visit("narrowed_mlp", job.narrowed_mlp);
  visit("recomputes_first_layers", job.recomputes_first_layers);
  visit("megatron_core", job.megatron_core);
  visit("deepspeed", job.deepspeed);
  visit("deepspeed_config", job.deepspeed_config);
  visit("script", job.script);
  visit("shape_by_name", job.shape_by_name);
  visit("yaml_config", job.yaml_config);
  visit("model_named", job.model_named);
  visit("yaml_config_file", job.yaml_config_file);
  visit("deepspeed_config_file", job.deepspeed_config_file);
  visit("accelerate_file", job.accelerate_file);
  visit("expert_layers", job.expert_layers);
  visit("torchtitan.family", job.torchtitan.family);
  visit("torchtitan.flavour", job.torchtitan.flavour);
  visit("files_named", job.files_named);
  visit("tokenizer", job.tokenizer);
}

/// Calls `visit` with the field of that name; false where no job has one.
template <class Job, class Visit>
bool with_field(Job& job, std::string_view path, const Visit& visit) {
  constexpr std::string_view kPlan = "plan.";
  constexpr std::string_view kModel = "model.";
  bool found = false;
  std::string_view rest = path;
  const auto try_one = [&](std::string_view name, auto& field) {
    if (found || name != rest) return;
    found = true;
    visit(field);
  };
  if (path.starts_with(kPlan)) {
    rest.remove_prefix(kPlan.size());
    each_axis([&](const auto& axis) { try_one(axis.name, axis.of(job.plan)); });
  } else if (path.starts_with(kModel)) {
    rest.remove_prefix(kModel.size());
    each_model_field(job.model, try_one);
  } else {
    each_own_field(job, try_one);
  }
  return found;
}

template <class Value>
std::optional<Value> value_of(const std::string& text) {
  if constexpr (std::is_same_v<Value, bool>) {
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true";
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return parse_integer(text);
  } else if constexpr (std::is_same_v<Value, double>) {
    return parse_number(text);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return text;
  } else {
    return named<Value>(text);
  }
}

constexpr std::string_view kTakenBack = "-";
constexpr std::size_t kWhole = 1 << 12;  // bytes of a value

template <class Value>
bool set(std::optional<Value>& field, const Assignment& one) {
  if (one.value == kTakenBack) return field.reset(), true;
  const std::optional<Value> value = value_of<Value>(one.value);
  if (!value) return false;
  if (one.how == How::if_open && field) return true;
  if constexpr (std::is_same_v<Value, std::int64_t>) {
    if (one.how == How::at_least && field && *field >= *value) return true;
  }
  field = value;
  return true;
}
template <Worded Enum>
bool set(std::optional<WordSet<Enum>>& field, const Assignment& one) {
  if (one.value == kTakenBack) return field.reset(), true;
  const auto words = of_cell(one.value, Domain<WordSet<Enum>>{});
  if (!words) return false;
  if (one.how == How::if_open && field) return true;
  if (one.how != How::add || !field) field.emplace();
  for (const Enum word : all_of<Enum>()) {
    if (words->has(word)) field->add(word);
  }
  return true;
}
bool set(bool& field, const Assignment& one) {
  const std::optional<bool> value = value_of<bool>(one.value);
  if (value) field = *value;
  return value.has_value();
}
bool set(std::string& field, const Assignment& one) {
  if (one.how != How::if_open || field.empty()) field = one.value;
  return true;
}

/// A text that is set stands before those that are there, one that is added behind them.
bool set(std::vector<std::string>& field, const Assignment& one) {
  field.insert(one.how == How::add ? field.end() : field.begin(), one.value);
  return true;
}

/// The format of products: a narrower one goes with a type for what is in neither, and stays.
bool set_products(const std::string& word, ImportedJob& job) {
  const auto format = named<Precision>(word);
  if (!format) return false;
  std::optional<Precision>& products = job.plan.precision;
  const Precision said = products.value_or(Precision::fp32);
  const bool narrower = is_quantized(*format) ? said == Precision::fp4 : is_quantized(said);
  if (!narrower) products = format;
  return true;
}

/// Schedules that split the backward pass (arXiv 2401.10241), unless one in a V is said.
bool set_split_backward(const std::string& word, ImportedJob& job) {
  const auto schedule = named<Schedule>(word);
  if (!schedule) return false;
  if (job.plan.schedule && traits(*job.plan.schedule).folded) return true;
  job.plan.schedule = schedule;
  if (traits(*schedule).folded) job.plan.vpp = 2;
  return true;
}

bool set_weights(const std::string& word, ImportedJob& job) {
  job.report.left_out.push_back(
      fmt::format("weights in {} alone: predicted with the copy in fp32 that mixed precision "
                  "keeps, which takes more memory",
                  word));
  return true;
}

bool set_trainer(const std::string& word, ImportedJob& job) {
  job.marks.trainers.insert(word);
  return true;
}

/// Fields whose value takes more than one place.
struct Computed {
  std::string_view name;
  bool (*set)(const std::string& word, ImportedJob& job);
};
constexpr Computed kComputed[] = {{"products", set_products},
                                  {"split_backward", set_split_backward},
                                  {"weights", set_weights},
                                  {"trainer", set_trainer}};

constexpr std::string_view kMixers = "mixers.";
constexpr std::string_view kSaid = "said.";  // another flag

}  // namespace

bool assign(const Assignment& one, ImportedJob& job) {
  const std::string_view path = one.field;
  const auto* const computed = std::ranges::find(kComputed, path, &Computed::name);
  if (computed != std::end(kComputed)) return computed->set(one.value, job);
  if (path.starts_with(kMixers)) {
    job.model.mixers[std::string(path.substr(kMixers.size()))] = one.value;
    return true;
  }
  if (path.starts_with(kSaid)) {
    job.said.try_emplace(std::string(path.substr(kSaid.size())), 1);
    return true;
  }
  bool fits = false;
  return with_field(job, path, [&](auto& field) { fits = set(field, one); }) && fits;
}

void take_effect(const Effect& effect, ImportedJob& job, const std::string& said) {
  for (const Assignment& one : effect) {
    (void)assign({one.field, one.how, one.value == "*" ? said : filled(one.value, job, kWhole)},
                 job);
  }
}

Effect read_effect(const Cursor& text) {
  Effect effect;
  const std::string all = text.text();
  ImportedJob scratch;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(' ', at), all.size());
    const std::string one = all.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = one.find('=');
    const std::string_view before = std::string_view(one).substr(0, equals);
    const How how = before.ends_with('?')   ? How::if_open
                    : before.ends_with('>') ? How::at_least
                    : before.ends_with('+') ? How::add
                                            : How::set;
    const std::size_t length = before.size() - (how == How::set ? 0 : 1);
    Assignment& read = effect.emplace_back(
        Assignment{one.substr(0, length), how,
                   equals == std::string::npos ? std::string() : one.substr(equals + 1)});
    const bool by_field = read.value.starts_with('{');
    if (!assign({read.field, read.how, by_field ? std::string(kTakenBack) : read.value}, scratch)) {
      text.problem(fmt::format("{}: no field of a job with such a value", in_quotes(one)));
    }
  }
  return effect;
}

bool is_open(std::string_view field, const ImportedJob& job) {
  bool open = false;
  (void)with_field(job, field, [&](const auto& one) {
    if constexpr (requires { one.has_value(); }) open = !one.has_value();
  });
  return open;
}

std::optional<std::string> text_of(std::string_view name, const ImportedJob& job) {
  std::optional<std::string> text;
  const bool field = with_field(job, name, [&](const auto& one) {
    if constexpr (std::is_same_v<decltype(one), const std::optional<bool>&>) {
      if (one) text = *one ? "true" : "false";
    } else if constexpr (requires { one.has_value(); }) {
      if (one) text = cell_of(*one);
    } else if constexpr (std::is_same_v<decltype(one), const bool&>) {
      if (one) text = "true";
    } else if constexpr (std::is_same_v<decltype(one), const std::string&>) {
      if (!one.empty()) text = one;
    } else {
      if (!one.empty()) text = one.front();
    }
  });
  if (field) return text;
  if (const auto said = job.value(name)) return std::to_string(*said);
  if (const auto* fact = find_name(job.facts, name)) return *fact;
  constexpr std::string_view kOf = "of.";
  constexpr std::string_view kOpen = "open.";
  const bool is = (name.starts_with(kOf) && job.is_of(name.substr(kOf.size()))) ||
                  (name.starts_with(kOpen) && job.unresolved.contains(name.substr(kOpen.size())));
  return is ? std::optional<std::string>("true") : std::nullopt;
}

std::string filled(std::string_view text, const ImportedJob& job, std::size_t limit) {
  std::string all;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{')) {
    const std::size_t end = std::min(text.find('}', at), text.size() - 1);
    all += text.substr(0, at);
    all += printable(text_of(text.substr(at + 1, end - at - 1), job).value_or(""), limit);
    text.remove_prefix(end + 1);
  }
  return all += text;
}

std::optional<std::int64_t>* number_field(std::string_view field, ImportedJob& job) {
  std::optional<std::int64_t>* found = nullptr;
  (void)with_field(job, field, [&](auto& one) {
    if constexpr (std::is_same_v<decltype(one), std::optional<std::int64_t>&>) found = &one;
  });
  return found;
}

std::string_view spoken(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kSpoken[] = {
      {"batch_tokens", "tokens of a step"},
      {"gradient_accumulation_steps", "accumulation steps"},
      {"devices_per_node", "devices of a node"},
      {"model.num_hidden_layers", "layers"},
      {"model.hidden_size", "hidden size"},
      {"model.num_attention_heads", "heads"},
      {"model.num_key_value_heads", "heads of keys and values"},
      {"model.intermediate_size", "width of the MLP"}};
  for (const auto& [name, words] : kSpoken) {
    if (name == field) return words;
  }
  return field.substr(field.rfind('.') + 1);  // npos + 1 is 0
}

bool is_of_layers(std::string_view field) {
  return field.starts_with("model.") && field != "model.vocab_size";
}

}  // namespace prequel
