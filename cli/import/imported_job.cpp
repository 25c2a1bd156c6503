#include "cli/import/imported_job.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPositionNames[] = {"learned", "alibi", "rope", "none"};
constexpr std::size_t kMostIgnored = 12;  // names on one line of the report
constexpr std::int64_t kMostBatch = 1LL << 30;

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

Json model_object(const ImportedModel& model, const std::string& origin) {
  Json json{{"name", printable(model.name.empty() ? "imported" : model.name, 100)}};
  put(json, "num_hidden_layers", model.layers);
  put(json, "hidden_size", model.hidden);
  put(json, "num_attention_heads", model.heads);
  put(json, "num_key_value_heads", model.kv_heads);
  put(json, "head_dim", model.head_dim);
  put(json, "intermediate_size", model.ffn_hidden);
  put(json, "vocab_size", model.vocab);
  put(json, "max_position_embeddings", model.max_positions);
  if (model.mlp) json["mlp"] = *model.mlp == Mlp::swiglu ? "swiglu" : "gelu";
  if (model.position) json["position"] = kPositionNames[static_cast<std::size_t>(*model.position)];
  if (model.norm) json["norm"] = *model.norm == Norm::rms_norm ? "rms_norm" : "layer_norm";
  put(json, "bias", model.linear_bias);
  put(json, "tie_word_embeddings", model.tied_embeddings);
  put(json, "embedding_norm", model.embedding_norm);
  json["origin"] = origin;
  return json;
}

Json plan_object(const PlanRequest& plan) {
  Json json = Json::object();
  put(json, "nodes", plan.nodes);
  put(json, "dp", plan.dp);
  put(json, "tp", plan.tp);
  put(json, "pp", plan.pp);
  put(json, "cp", plan.cp);
  put(json, "ep", plan.ep);
  put(json, "vpp", plan.vpp);
  put(json, "mbs", plan.mbs);
  put(json, "gbs", plan.gbs);
  put(json, "seq_len", plan.seq_len);
  put(json, "zero", plan.zero);
  if (plan.offload) json["offload"] = name(*plan.offload);
  if (plan.recompute) json["recompute"] = name(*plan.recompute);
  put(json, "recompute_layers", plan.recompute_layers);
  if (plan.precision) json["precision"] = name(*plan.precision);
  if (plan.attention) json["attention"] = name(*plan.attention);
  put(json, "sequence_parallel", plan.sequence_parallel);
  put(json, "schedule", plan.schedule);
  if (plan.grad_precision) json["grad_precision"] = name(*plan.grad_precision);
  if (plan.stage_split) json["stage_split"] = name(*plan.stage_split);
  return json;
}

bool is_whole(const ImportedModel& model) {
  return model.layers && model.hidden && model.heads && model.vocab && model.max_positions;
}

/// The model's own reader is the judge of what contradicts itself.
void check(const Json& model, const std::string& origin) {
  (void)read_transformer(Document::from(origin, nlohmann::json(model)));
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void complete(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const auto assume = [&](const std::string& text) { job.report.assumed.push_back(text); };
  if (!job.gpus_per_node && job.tasks_per_node.value_or(1) > 1) {
    job.gpus_per_node = job.tasks_per_node;
    assume(fmt::format("{} devices a node: one for each task", *job.gpus_per_node));
  }
  if (!job.gpus && plan.nodes && job.gpus_per_node && *plan.nodes < kMostBatch &&
      *job.gpus_per_node < kMostBatch) {
    job.gpus = *plan.nodes * *job.gpus_per_node;
  }
  if (!plan.nodes && job.gpus && job.gpus_per_node && *job.gpus_per_node > 0 &&
      *job.gpus % *job.gpus_per_node == 0) {
    plan.nodes = *job.gpus / *job.gpus_per_node;
  }
  const std::int64_t model_parallel = std::min(plan.tp.value_or(1), kMostBatch) *
                                      std::min(plan.pp.value_or(1), std::int64_t{1} << 20) *
                                      std::min(plan.cp.value_or(1), std::int64_t{1} << 10);
  if (!plan.dp && job.gpus && model_parallel > 0 && *job.gpus % model_parallel == 0 &&
      *job.gpus >= model_parallel) {
    plan.dp = *job.gpus / model_parallel;
    assume(
        fmt::format("dp {}: {} devices / {} of tp x pp x cp", *plan.dp, *job.gpus, model_parallel));
  }
  if (!plan.gbs && plan.dp && plan.mbs && *plan.dp < kMostBatch && *plan.mbs < kMostBatch) {
    const std::int64_t steps = job.gradient_accumulation_steps.value_or(1);
    if (steps < kMostBatch && *plan.dp * *plan.mbs < kMostBatch) {
      plan.gbs = *plan.dp * *plan.mbs * steps;
      assume(fmt::format("gbs {}: dp {} x mbs {} x {} accumulation steps", *plan.gbs, *plan.dp,
                         *plan.mbs, steps));
    }
  }
  if (!plan.mbs && plan.gbs && plan.dp && job.gradient_accumulation_steps) {
    const std::int64_t micro_batches = *plan.dp * *job.gradient_accumulation_steps;
    if (micro_batches > 0 && *plan.gbs % micro_batches == 0) plan.mbs = *plan.gbs / micro_batches;
  }
  if (!plan.vpp && job.layers_per_virtual_stage && job.model.layers) {
    const std::int64_t chunk = plan.pp.value_or(1) * *job.layers_per_virtual_stage;
    if (chunk > 0 && *job.model.layers % chunk == 0) plan.vpp = *job.model.layers / chunk;
  }
  if (!plan.seq_len && job.model.max_positions && job.model.layers && job.gpus) {
    assume(
        fmt::format("seq_len: the model's max_position_embeddings {}", *job.model.max_positions));
  }
}

std::string model_json(const ImportedModel& model, const std::string& origin) {
  Json json = model_object(model, origin);
  check(json, origin);
  return text_of(json);
}

std::string job_json(const ImportedJob& job, const std::string& origin) {
  Json model = model_object(job.model, origin);
  if (is_whole(job.model)) check(model, origin);
  Json json{{"schema", "prequel/job/1"}, {"model", model}};
  put(json, "cluster", job.cluster);
  put(json, "software", job.software);
  json["plan"] = plan_object(job.plan);
  return text_of(json);
}

std::string report_text(const ImportReport& report) {
  std::string text;
  for (const std::string& line : report.read) text += fmt::format("read: {}\n", line);
  for (const std::string& line : report.assumed) text += fmt::format("assumed: {}\n", line);
  for (const std::string& line : report.left_out) text += fmt::format("left out: {}\n", line);
  if (report.ignored.empty()) return text;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostIgnored, report.ignored.size()); ++i) {
    names += (i > 0 ? ", " : "") + printable(report.ignored[i], 80);
  }
  text += fmt::format("ignored: {}", names);
  if (report.ignored.size() > kMostIgnored) {
    text += fmt::format(" and {} more", report.ignored.size() - kMostIgnored);
  }
  return text + "\n";
}

}  // namespace prequel
