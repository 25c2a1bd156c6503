#include "cli/import/job/imported_job.hpp"

#include <type_traits>
#include <utility>

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
void read_named(const Facts& facts, std::string_view name, std::optional<T>& value) {
  if (facts.says(name)) read_fact(facts.text(name), value);
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

void count_parameters(ImportedJob& job) {
  if (!is_whole(job.model)) return;
  const nlohmann::json json(model_object(job.model, "import"));
  const Transformer model = read_transformer(Document::from("import", json));
  job.report.parameters = total_parameters(model);
  if (model.has_experts()) job.report.active_parameters = active_parameters(model);
}

std::vector<SoftwareField> software_fields(const Facts& job) {
  std::vector<SoftwareField> fields;
  if (job.says("launch")) fields.push_back({"software.launch", job.text("launch")});
  if (job.says("keeps_gathers")) {
    fields.push_back({"software.memory.keeps_gathers", job.text("keeps_gathers")});
  }
  return fields;
}

Facts imported_model(const Document& file) {
  const Transformer whole = file.read_once(read_transformer);  // which judges the rest, too
  Facts model;
  const ImportedModel none;
  each_model_field(none, [&](const char* key, const auto& /*value*/) {
    const auto found = file.json().find(key);
    if (found == file.json().end() || found->is_null()) return;
    model.set(fmt::format("model.{}", key), found->is_string() ? found->get<std::string>()
                                            : found->is_number_float()
                                                ? fact_text(found->get<double>())
                                                : found->dump());
  });
  for (const auto& [key, value] : file.json().items()) {
    if (is_mixer_key(key)) model.set(kMixers + key, value.dump());
  }
  model.set("model.name", whole.name);
  if (!model.says(kModelLayers)) model.set_number(kModelLayers, whole.layers);
  if (!model.says("model.num_attention_heads")) {
    model.set_number("model.num_attention_heads", whole.heads);
  }
  return model;
}

void set_model(const Facts& model, Facts& facts) {
  for (const auto& begin : {std::string("model."), kMixers}) {
    facts.drop_all(begin);
    for (const auto& [name, fact] : model.with(begin)) facts.set(name, fact.text);
  }
}

void take_what_is_missing(Facts known, Facts& facts) {
  if (known.value("model.num_experts").value_or(0) < 2) {
    const ImportedExperts none;
    each_expert_field(none, [&](const char* key, const auto& /*value*/) {
      known.drop(fmt::format("model.{}", key));
    });
  }
  known.drop("model.name");
  if (!facts.with(kMixers).empty()) known.drop_all(kMixers);
  for (const auto& begin : {std::string("model."), kMixers}) {
    for (const auto& [name, fact] : known.with(begin)) {
      if (!facts.says(name)) facts.set(name, fact.text);
    }
  }
}

ImportedModel model_of(const Facts& facts) {
  ImportedModel model;
  model.name = facts.text("model.name");
  each_model_field(model, [&](const char* key, auto& value) {
    read_named(facts, fmt::format("model.{}", key), value);
  });
  for (const auto& [name, fact] : facts.with(kMixers)) {
    model.mixers.emplace(name.substr(kMixers.size()), fact.text);
  }
  return model;
}

PlanRequest plan_of(const Facts& facts) {
  PlanRequest plan;
  each_axis([&](const auto& axis) {
    read_named(facts, fmt::format("plan.{}", axis.name), axis.of(plan));
  });
  return plan;
}

ImportedJob resolve(Facts facts) {
  ImportedJob job;
  job.model = model_of(facts);
  job.plan = plan_of(facts);
  read_named(facts, "cluster", job.cluster);
  read_named(facts, "software", job.software);
  static_cast<Facts&>(job) = std::move(facts);
  return job;
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

}  // namespace prequel
