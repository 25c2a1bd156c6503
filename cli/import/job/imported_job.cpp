#include "cli/import/job/imported_job.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/json/axis_json.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/layers/parameters.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDegreeFlags[] = {"--tensor-model-parallel-size",
                                        "--pipeline-model-parallel-size", "--context-parallel-size",
                                        "--ds-sequence-parallel-size"};

/// Keys of the model file that have no field here.
bool is_mixer_key(std::string_view key) {
  constexpr std::string_view kKeys =
      " layers_pattern layer_types mtp_layer_types compression_window hc_mult o_groups o_lora_rank "
      "block_residuals attention_k_eq_v attn_output_gate mtp_use_repeated_layer other_parameters "
      "moe_router_bias moe_latent_size moe_latent_norm num_hash_layers num_zero_experts "
      "moe_shortcut intermediate_sizes short_conv_kernel_dim ";
  for (const std::string_view begin : {"mamba_", "linear_", "index_", "swa_"}) {
    if (key.starts_with(begin)) return true;
  }
  return kKeys.find(fmt::format(" {} ", key)) != std::string_view::npos;
}

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_enum_v<T>) {
    json[key] = name(*value);
  } else {
    json[key] = *value;
  }
}

template <class T>
void take(const nlohmann::json& file, const char* key, std::optional<T>& value) {
  const auto found = file.find(key);
  if (found == file.end() || found->is_null()) return;
  if constexpr (std::is_enum_v<T>) {
    value = named<T>(found->template get<std::string>());
  } else {
    value = found->template get<T>();
  }
}

Json model_object(const ImportedModel& model, const std::string& origin) {
  Json json{{"name", printable(model.name.empty() ? "imported" : model.name, 100)}};
  const auto write = [&](const char* key, const auto& value) { put(json, key, value); };
  each_shape_field(model, write);
  if (model.experts.count.value_or(0) >= 2) each_expert_field(model.experts, write);
  each_latent_field(model.latent, write);
  for (const auto& [key, value] : model.mixers) json[key] = Json::parse(value);
  if (json.contains("layers_pattern")) json.erase("num_hidden_layers");
  json["origin"] = origin;
  return json;
}

Json plan_object(const PlanRequest& plan) {
  Json json = Json::object();
  each_axis([&](const auto& axis) {
    if (const auto& value = axis.of(plan)) json[axis.name] = axis_json(*value);
  });
  return json;
}

bool is_whole(const ImportedModel& model) {
  return model.layers && model.hidden && model.heads && model.vocab && model.max_positions;
}

/// The model's own reader is the judge of what contradicts itself.
void check(const Json& model, const std::string& origin) {
  (void)read_transformer(Document::from(origin, nlohmann::json(model)));
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

const std::string& Facts::text(std::string_view name) const {
  static const std::string none;
  const std::string* const found = find_name(facts_, name);
  return found == nullptr ? none : *found;
}

std::optional<std::int64_t> Facts::value(std::string_view name) const {
  const std::string* const found = find_name(facts_, name);
  return found == nullptr ? std::nullopt : std::optional<std::int64_t>(parse_integer(*found));
}

std::optional<bool> Facts::flag(std::string_view name) const {
  return says(name) ? std::optional(text(name) == "true") : std::nullopt;
}

void Facts::set(const std::string& name, std::string text) {
  if (text.empty()) return drop(name);
  facts_[name] = std::move(text);
}

void Facts::set_number(const std::string& name, std::optional<std::int64_t> number) {
  number ? set(name, std::to_string(*number)) : drop(name);
}

void Facts::drop_all(std::string_view begin) {
  std::erase_if(facts_, [&](const auto& one) { return one.first.starts_with(begin); });
}

bool ImportedJob::is_of(std::string_view framework) const {
  if (says(fmt::format("mark.of.{}", framework))) return true;
  const auto found = names->frameworks.find(framework);
  return found != names->frameworks.end() &&
         std::ranges::any_of(found->second.flags,
                             [&](const std::string& flag) { return says(flag); });
}

std::string ImportedJob::unresolved_degrees() const {
  std::string flags;
  for (const char* flag : kDegreeFlags) {
    if (says(std::string("open.") + flag)) flags += (flags.empty() ? "" : ", ") + std::string(flag);
  }
  return flags;
}

void count_parameters(ImportedJob& job) {
  if (!is_whole(job.model)) return;
  const nlohmann::json json(model_object(job.model, "import"));
  const Transformer model = read_transformer(Document::from("import", json));
  job.report.parameters = total_parameters(model);
  if (model.has_experts()) job.report.active_parameters = active_parameters(model);
}

std::vector<SoftwareField> software_fields(const ImportedJob& job) {
  std::vector<SoftwareField> fields;
  if (job.says("launch")) fields.push_back({"software.launch", job.text("launch")});
  if (job.says("keeps_gathers")) {
    fields.push_back({"software.memory.keeps_gathers", job.text("keeps_gathers")});
  }
  return fields;
}

ImportedModel imported_model(const Document& file) {
  ImportedModel model;
  model.name = file.read_once(read_transformer).name;  // which judges the rest, too
  const auto read = [&](const char* key, auto& value) { take(file.json(), key, value); };
  each_model_field(model, read);
  for (const auto& [key, value] : file.json().items()) {
    if (is_mixer_key(key)) model.mixers[key] = value.dump();
  }
  if (!model.layers) model.layers = file.read_once(read_transformer).layers;
  if (!model.heads) model.heads = file.read_once(read_transformer).heads;
  return model;
}

void take_what_is_missing(const ImportedModel& known, ImportedModel& model) {
  const nlohmann::json json(model_object(known, ""));
  const auto fill = [&](const char* key, auto& value) {
    if (!value) take(json, key, value);
  };
  each_model_field(model, fill);
  if (model.mixers.empty()) model.mixers = known.mixers;
  if (!model.layers) model.layers = known.layers;  // which letters tell, too
}

std::string model_json(const ImportedModel& model, const std::string& origin) {
  Json json = model_object(model, origin);
  check(json, origin);
  return json_text(json);
}

std::string job_json(const ImportedJob& job, const std::string& origin) {
  Json model = model_object(job.model, origin);
  if (is_whole(job.model)) check(model, origin);
  Json json{{"schema", "prequel/job/1"}, {"model", model}};
  put(json, "cluster", job.cluster);
  put(json, "software", job.software);
  json["plan"] = plan_object(job.plan);
  return json_text(json);
}

std::string report_text(const ImportReport& report) {
  std::string text;
  for (const std::string& line : report.read) text += fmt::format("read: {}\n", line);
  if (report.parameters) {
    text += fmt::format("parameters: {:.4g} billion ({}){}\n",
                        static_cast<double>(*report.parameters) * 1e-9, *report.parameters,
                        report.active_parameters
                            ? fmt::format(", of which a token passes {:.4g} billion",
                                          static_cast<double>(*report.active_parameters) * 1e-9)
                            : "");
  }
  for (const std::string& line : report.assumed) text += fmt::format("assumed: {}\n", line);
  for (const std::string& line : report.left_out) text += fmt::format("left out: {}\n", line);
  if (report.ignored.empty()) return text;
  std::string names;
  for (const std::string& name : report.ignored) {
    names += (names.empty() ? "" : ", ") + printable(name, 80);
  }
  return text + fmt::format("ignored: {}\n", names);
}

}  // namespace prequel
