#include "cli/import/job/job_fields.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/python/python_values.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/schedules.hpp"

namespace prequel {
namespace {

using How = Assignment::How;

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
std::optional<std::string> as_held(const std::string& text) {
  std::optional<Value> value;
  if constexpr (std::is_same_v<Value, std::int64_t>) {
    value = number(text);
  } else if (text == "true" || text == "false" || !std::is_same_v<Value, bool>) {
    read_fact(text, value);
  }
  return value ? std::optional(fact_text(*value)) : std::nullopt;
}

/// Returns the words of two lists; nothing of what has no words.
template <class Value>
std::optional<std::string> joined_words(const std::string& /*one*/, const std::string& /*other*/,
                                        const Domain<Value>& /*domain*/) {
  return std::nullopt;
}
template <Worded Enum>
std::optional<std::string> joined_words(const std::string& one, const std::string& other,
                                        const Domain<WordSet<Enum>>& domain) {
  WordSet<Enum> all = of_cell(one, domain).value_or(WordSet<Enum>{});
  const WordSet<Enum> more = of_cell(other, domain).value_or(WordSet<Enum>{});
  for (const Enum word : all_of<Enum>()) {
    if (more.has(word)) all.add(word);
  }
  return cell_of(all);
}

/// A field that a job can have.
struct JobField {
  /// Returns a value as facts hold it; nothing where the text is no such value.
  std::optional<std::string> (*as_held)(const std::string& text);
  /// Returns what is held with more words; nothing for fields that hold none.
  std::optional<std::string> (*joined)(const std::string& held, const std::string& more);
};
template <class Value>
constexpr JobField field_of() {
  return {as_held<Value>, [](const std::string& held, const std::string& more) {
            return joined_words(held, more, Domain<Value>{});
          }};
}

using JobFields = std::map<std::string, JobField, std::less<>>;

void add_fields(std::string_view names, const JobField& field, JobFields& fields) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    fields.emplace(names.substr(0, end), field);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

/// Returns fields of plans and models, and facts that data files may set, by what they hold.
JobFields all_fields() {
  JobFields fields;
  each_axis([&](const auto& axis) {
    using Held = std::remove_cvref_t<decltype(*axis.of(std::declval<PlanRequest&>()))>;
    fields.emplace(fmt::format("plan.{}", axis.name), field_of<Held>());
  });
  ImportedModel model;
  each_model_field(model, [&]<class Held>(const char* key, const std::optional<Held>& /*value*/) {
    fields.emplace(fmt::format("model.{}", key), field_of<Held>());
  });
  add_fields(
      "batch_size batch_tokens devices devices_per_node devices_per_task extra_vocab ffn_halves "
      "ffn_multiple ffn_ratio first_stage_layers gradient_accumulation_steps idle_layers idle_of "
      "last_stage_layers layers_per_chunk mark.sharding_strategy maxtext.all maxtext.between "
      "maxtext.copies maxtext.inside maxtext.ranks maxtext.shards model_parallel "
      "optimizer_instances padded_vocab pipeline_units query_groups sharding_ranks shared_experts "
      "tasks tasks_per_node torchtitan.chunks torchtitan.layers_per_stage torchtitan.local_batch "
      "train_batch_size train_micro_batch_size_per_gpu zero_optimization.stage "
      "torchtitan.micro_batch torchtitan.micro_batches torchtitan.replicate torchtitan.shard "
      "vocab_multiple",
      field_of<std::int64_t>(), fields);
  add_fields(
      "deepspeed deepspeed_config graphs grouped_queries keeps_gathers mark.flex_dispatcher "
      "mark.fully_sharded mark.joined_documents mark.optimizer_in_backward mark.own_attention "
      "mark.reinforced mark.replaced mark.shared_steps mark.sparse_core mark.stage_by_name "
      "mark.unpacked "
      "mark.variables maxtext.open megatron_core narrowed_mlp offload_by_name overlap_comm "
      "pipelines "
      "recomputes_first_layers script shape_by_name yaml_config",
      field_of<bool>(), fields);
  add_fields(
      "accelerate_file batch_flag beside_word cluster deepspeed_config_file expert_layers "
      "launch model_named overlap_word software torchtitan.family torchtitan.flavour "
      "yaml_config_file",
      field_of<std::string>(), fields);
  add_fields("capacity_factor ffn_scale", field_of<double>(), fields);
  add_fields("config_precision moments.first moments.second", field_of<Precision>(), fields);
  fields.emplace("mark.flex_backend", field_of<Dispatcher>());
  fields.emplace("graphed", field_of<WordSet<GraphedModule>>());
  return fields;
}

/// Returns the field of that name; null where no job has one.
const JobField* field_named(std::string_view name) {
  static const JobFields fields = all_fields();
  return find_name(fields, name);
}

/// Returns the same for what data files may set, too: flags, axes of MaxText and keys of
/// configurations, whatever they are called.
const JobField* settable_field(std::string_view name) {
  static constexpr JobField kCount = field_of<std::int64_t>();
  static constexpr JobField kText = field_of<std::string>();
  if (name.starts_with("--") || name.ends_with("_parallelism")) return &kCount;
  return name.starts_with("config.") ? &kText : field_named(name);
}

/// Returns the list of that name; null where no job has one.
template <class Job>
auto list_named(std::string_view name, Job& job) {
  return name == "files_named" ? &job.files_named : name == "tokenizer" ? &job.tokenizer : nullptr;
}

constexpr std::string_view kTakenBack = "-";
constexpr std::size_t kWhole = 1 << 12;  // bytes of a value

/// The format of products: a narrower one goes with a type for what is in neither, and stays.
bool set_products(const std::string& word, Facts& job) {
  const auto format = named<Precision>(word);
  if (!format) return false;
  const Precision said = named<Precision>(job.text("plan.precision")).value_or(Precision::fp32);
  const bool narrower = is_quantized(*format) ? said == Precision::fp4 : is_quantized(said);
  if (!narrower) job.set("plan.precision", word);
  return true;
}

/// Schedules that split the backward pass (arXiv 2401.10241), unless one in a V is said.
bool set_split_backward(const std::string& word, Facts& job) {
  const auto schedule = named<Schedule>(word);
  if (!schedule) return false;
  const auto said = named<Schedule>(job.text("plan.schedule"));
  if (said && traits(*said).folded) return true;
  job.set("plan.schedule", word);
  if (traits(*schedule).folded) job.set("plan.vpp", "2");
  return true;
}

bool set_trainer(const std::string& word, Facts& job) {
  job.set_flag("mark.of." + word);
  return true;
}

/// Fields whose value takes more than one place.
struct Computed {
  std::string_view name;
  bool (*set)(const std::string& word, Facts& job);
};
constexpr Computed kComputed[] = {
    {"products", set_products}, {"split_backward", set_split_backward}, {"trainer", set_trainer}};

/// Sets the key of a mixer to JSON, or to what arithmetic yields.
bool set_mixer(const Assignment& one, Facts& job) {
  const auto size = number(one.value);
  const bool fails = !size && one.value.find_first_of("0123456789(") == 0;
  if (!fails) job.set(one.field, size ? std::to_string(*size) : one.value);
  return !fails;
}

}  // namespace

bool assign(const Assignment& one, Facts& job) {
  const std::string& name = one.field;
  const auto* const computed = std::ranges::find(kComputed, name, &Computed::name);
  if (computed != std::end(kComputed)) return computed->set(one.value, job);
  if (auto* const list = list_named(name, job)) {
    list->insert(one.how == How::add ? list->end() : list->begin(), one.value);
    return true;
  }
  if (one.value == kTakenBack) {
    name.ends_with(".*") ? job.drop_all(name.substr(0, name.size() - 1)) : job.drop(name);
    return true;
  }
  const bool keeps = one.how == How::if_open && job.says(name);
  if (name.starts_with(kMixers)) return keeps || set_mixer(one, job);
  const JobField* const field = settable_field(name);
  auto value = field == nullptr ? std::nullopt : field->as_held(one.value);
  if (!value || keeps) return value.has_value();
  if (one.how == How::at_least && job.value(name) && *job.value(name) >= number(*value))
    return true;
  if (one.how == How::add && job.says(name)) {
    value = field->joined(job.text(name), *value).value_or(*value);
  }
  const bool counts = name.starts_with("config.") && value->starts_with('(');
  const auto made = counts ? number(*value) : std::nullopt;
  job.set(name, made ? std::to_string(*made) : *value);
  return true;
}

void take_effect(const Effect& effect, Facts& job, const std::string& said) {
  for (const Assignment& one : effect) {
    (void)assign({one.field, one.how, one.value == "*" ? said : filled(one.value, job, kWhole)},
                 job);
  }
}

Effect read_effect(const Cursor& text) {
  Effect effect;
  const std::string all = text.text();
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
    if (read.value.find('{') != std::string::npos) continue;  // by another field
    const JobField* const field = settable_field(read.field);
    if (field != nullptr && field->as_held(read.value)) continue;
    Facts scratch;
    if (!assign(read, scratch)) {
      text.problem(fmt::format("{}: no field of a job with such a value", in_quotes(one)));
    }
  }
  return effect;
}

bool is_open(std::string_view field, const Facts& job) {
  return field_named(field) != nullptr && !job.says(field);
}

std::optional<std::string> text_of(std::string_view name, const Facts& job) {
  constexpr std::string_view kOf = "of.";
  constexpr std::string_view kName = ".name";
  const auto* const list = list_named(name, job);
  if (list != nullptr && !list->empty()) return list->front();
  if (job.says(name)) return job.text(name);
  if (name.ends_with(kName)) {
    const std::string& path = job.text(name.substr(0, name.size() - kName.size()));
    if (!path.empty()) return file_name(path);
  }
  const bool is = name.starts_with(kOf) && job.is_of(name.substr(kOf.size()));
  return is ? std::optional<std::string>("true") : std::nullopt;
}

std::string filled(std::string_view text, const Facts& job, std::size_t limit) {
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
  const JobField* const known = settable_field(field);
  return known != nullptr && known->as_held == as_held<std::int64_t>;
}

bool is_switch(std::string_view field) {
  const JobField* const known = field_named(field);
  return known != nullptr && known->as_held == as_held<bool>;
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
