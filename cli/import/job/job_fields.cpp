#include "cli/import/job/job_fields.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/python/python_values.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/schedules.hpp"

namespace prequel {
namespace {

using How = Assignment::How;

/// Facts that data files may set, by what they hold.
constexpr std::string_view kNumbers =
    " batch_size batch_tokens devices devices_per_node devices_per_task extra_vocab ffn_halves "
    "ffn_multiple ffn_ratio first_stage_layers gradient_accumulation_steps idle_layers idle_of "
    "last_stage_layers layers_per_chunk mark.sharding_strategy maxtext.all maxtext.between "
    "maxtext.copies maxtext.inside maxtext.ranks maxtext.shards model_parallel "
    "optimizer_instances padded_vocab pipeline_units query_groups sharding_ranks shared_experts "
    "tasks tasks_per_node torchtitan.chunks torchtitan.layers_per_stage torchtitan.local_batch "
    "torchtitan.micro_batch torchtitan.micro_batches torchtitan.replicate torchtitan.shard "
    "vocab_multiple ";
constexpr std::string_view kSwitches =
    " deepspeed deepspeed_config graphs grouped_queries keeps_gathers mark.flex_dispatcher "
    "mark.fully_sharded mark.joined_documents mark.optimizer_in_backward mark.own_attention "
    "mark.reinforced mark.sparse_core mark.unpacked maxtext.open megatron_core narrowed_mlp "
    "pipelines "
    "recomputes_first_layers script shape_by_name yaml_config ";
constexpr std::string_view kTexts =
    " accelerate_file batch_flag beside_word deepspeed_config_file expert_layers ffn_scale "
    "launch model_named overlap_word torchtitan.family torchtitan.flavour yaml_config_file ";
constexpr std::string_view kFormats = " config_precision moments.first moments.second ";

/// Tests whether a name is among names between blanks.
bool has(std::string_view names, std::string_view name) {
  return names.find(fmt::format(" {} ", name)) != std::string_view::npos;
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
    try_one("software", job.software);
    try_one("files_named", job.files_named);
    try_one("tokenizer", job.tokenizer);
  }
  return found;
}

/// Returns the whole number of the plan or the model of that name; null where there is none.
template <class Job>
auto with_number(std::string_view field, Job& job) {
  using Count = std::optional<std::int64_t>;
  std::conditional_t<std::is_const_v<Job>, const Count, Count>* found = nullptr;
  (void)with_field(job, field, [&](auto& one) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, Count>) found = &one;
  });
  return found;
}

/// Reads a whole number, or arithmetic that yields one: the shell's, or Python's with `int(…)`.
std::optional<std::int64_t> number(const std::string& text) {
  if (const auto plain = parse_integer(text)) return plain;
  if (const auto made = shell_arithmetic(text)) return made;
  const bool calls = text.find('(') != std::string::npos;
  if (!calls || text.find_first_of("$;\n'\"") != std::string::npos) return std::nullopt;
  const auto values = python_values("", "value = " + text);
  const auto made = values.find("value");
  return made == values.end() ? std::nullopt
                              : std::optional<std::int64_t>(parse_integer(made->second));
}

template <class Value>
std::optional<Value> value_of(const std::string& text) {
  if constexpr (std::is_same_v<Value, bool>) {
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true";
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return number(text);
  } else if constexpr (std::is_same_v<Value, double>) {
    return parse_number(text);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return text;
  } else {
    return named<Value>(text);
  }
}

constexpr std::string_view kTakenBack = "-";
constexpr std::string_view kMixers = "mixers.";
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

bool set_trainer(const std::string& word, ImportedJob& job) {
  job.set_flag("mark.of." + word);
  return true;
}

/// Fields whose value takes more than one place.
struct Computed {
  std::string_view name;
  bool (*set)(const std::string& word, ImportedJob& job);
};
constexpr Computed kComputed[] = {
    {"products", set_products}, {"split_backward", set_split_backward}, {"trainer", set_trainer}};

/// Tests whether a fact is a whole number: those of flags and of axes of MaxText are.
bool is_count(std::string_view name) {
  return has(kNumbers, name) || name.starts_with("--") || name.ends_with("_parallelism");
}

/// Tests whether data files may give a fact this value.
bool may_be(std::string_view name, const std::string& value) {
  if (is_count(name)) return number(value).has_value();
  if (has(kSwitches, name)) return value == "true" || value == "false";
  if (has(kFormats, name)) return named<Precision>(value).has_value();
  if (name == "mark.flex_backend") return named<Dispatcher>(value).has_value();
  if (name == "graphed") return named<GraphedModule>(value).has_value();
  return has(kTexts, name) || name.starts_with("config.");
}

bool set_fact(const Assignment& one, ImportedJob& job) {
  if (one.how == How::if_open && job.says(one.field)) return true;
  if (one.value == kTakenBack || one.value.empty()) {
    one.field.ends_with(".*") ? job.drop_all(one.field.substr(0, one.field.size() - 1))
                              : job.drop(one.field);
    return may_be(one.field, one.value) || one.value == kTakenBack;
  }
  if (is_count(one.field)) {
    const auto value = number(one.value);
    if (value) job.set_number(one.field, value);
    return value.has_value();
  }
  if (!may_be(one.field, one.value)) return false;
  const bool counts = one.field.starts_with("config.") && one.value.starts_with('(');
  const auto made = counts ? number(one.value) : std::nullopt;
  made ? job.set_number(one.field, made) : job.set(one.field, one.value);
  return true;
}

/// Sets the key of a mixer to JSON, or to what arithmetic yields.
bool set_mixer(const Assignment& one, std::map<std::string, std::string>& mixers) {
  const std::string key = one.field.substr(kMixers.size());
  if (one.how == How::if_open && mixers.contains(key)) return true;
  if (one.value == kTakenBack) return mixers.erase(key), true;
  const auto size = number(one.value);
  const bool fails = !size && one.value.find_first_of("0123456789(") == 0;
  if (!fails) mixers[key] = size ? std::to_string(*size) : one.value;
  return !fails;
}

}  // namespace

bool assign(const Assignment& one, ImportedJob& job) {
  const std::string_view path = one.field;
  const auto* const computed = std::ranges::find(kComputed, path, &Computed::name);
  if (computed != std::end(kComputed)) return computed->set(one.value, job);
  if (path.starts_with(kMixers)) return set_mixer(one, job.model.mixers);
  bool fits = false;
  const bool field = with_field(job, path, [&](auto& known) { fits = set(known, one); });
  return field ? fits : set_fact(one, job);
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
    const bool by_field = read.value.find('{') != std::string::npos;
    if (!assign({read.field, read.how, by_field ? std::string(kTakenBack) : read.value}, scratch)) {
      text.problem(fmt::format("{}: no field of a job with such a value", in_quotes(one)));
    }
  }
  return effect;
}

bool is_open(std::string_view field, const ImportedJob& job) {
  bool open = (is_number(field) || has(kSwitches, field) || has(kTexts, field)) && !job.says(field);
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
    } else {
      if (!one.empty()) text = one.front();
    }
  });
  if (field) return text;
  if (const std::string* fact = find_name(job.all(), name)) return *fact;
  if (name.starts_with(kMixers)) {
    const auto mixer = job.model.mixers.find(std::string(name.substr(kMixers.size())));
    return mixer == job.model.mixers.end() ? std::nullopt : std::optional(mixer->second);
  }
  constexpr std::string_view kOf = "of.";
  return name.starts_with(kOf) && job.is_of(name.substr(kOf.size()))
             ? std::optional<std::string>("true")
             : std::nullopt;
}

std::string filled(std::string_view text, const ImportedJob& job, std::size_t limit) {
  std::string all;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{')) {
    const std::size_t end = std::min(text.find('}', at), text.size() - 1);
    all += text.substr(0, at);
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const std::size_t colon = std::min(name.find(':'), name.size());
    const std::string_view usual = name.substr(std::min(colon + 1, name.size()));
    const auto value = text_of(name.substr(0, colon), job);
    all += value ? printable(*value, limit) : std::string(usual);
    text.remove_prefix(end + 1);
  }
  return all += text;
}

bool is_number(std::string_view field) {
  ImportedJob scratch;
  return has(kNumbers, field) || with_number(field, scratch) != nullptr;
}

std::optional<std::int64_t> number_of(std::string_view field, const ImportedJob& job) {
  const auto* const known = with_number(field, job);
  return known == nullptr ? job.value(field) : *known;
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
