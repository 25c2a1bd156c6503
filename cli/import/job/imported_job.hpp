#pragma once

/// Contents of other tools' files about a training job, as prequel reads them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/import/job/facts.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// Experts in the place of MLPs, as `Experts` has them; what is empty was not said.
struct ImportedExperts {
  std::optional<std::int64_t> count, top_k, ffn_hidden, shared_hidden, first_dense, every, groups,
      groups_chosen;
  std::optional<bool> shared_gate;
};

/// Latent attention, as `LatentAttention` has it.
struct ImportedLatent {
  std::optional<std::int64_t> kv_rank, q_rank, nope, rope, value;
};

/// The shape of the model; what is empty was not said.
struct ImportedModel {
  std::string name;
  std::optional<std::int64_t> layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab,
      max_positions;
  std::optional<Mlp> mlp;
  std::optional<PositionEmbedding> position;
  std::optional<Norm> norm;
  std::optional<bool> linear_bias, tied_embeddings, embedding_norm;
  std::optional<bool> qkv_bias, qk_norm, post_norms, attention_sinks, parallel_block;
  std::optional<bool> dropout, score_dropout;
  std::optional<std::int64_t> window, chunk, full_every, next_token_layers;
  std::optional<double> score_cap, logit_cap;  ///< soft-caps
  ImportedExperts experts;
  ImportedLatent latent;
  /// Mixers that are no plain attention: keys of the model file and their values as JSON.
  std::map<std::string, std::string> mixers;
};

/// A job as its facts have it.
struct ImportedJob : Facts {
  ImportedModel model;
  PlanRequest plan;
  std::optional<std::string> cluster, software;
};
ImportedJob resolve(Facts facts);

/// Returns the model, and the plan, as facts have them so far.
ImportedModel model_of(const Facts& facts);
PlanRequest plan_of(const Facts& facts);

/// Returns a value of a plan or a model as facts hold it.
template <class Value>
std::string fact_text(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "false";
  } else {
    return cell_of(value);
  }
}

/// Reads what was written so; nothing where it is no such value.
template <class Value>
void read_fact(const std::string& text, std::optional<Value>& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    value = text == "true";
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    value = parse_integer(text);
  } else if constexpr (std::is_same_v<Value, double>) {
    value = parse_number(text);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    value = text;
  } else if constexpr (std::is_enum_v<Value>) {
    value = named<Value>(text);
  } else {
    value = of_cell(text, Domain<Value>{});
  }
}

/// Puts the facts of a model in the place of what others have of theirs.
void set_model(const Facts& model, Facts& facts);
/// Fills what facts lack of a model's shape with what this one says.
void take_what_is_missing(Facts known, Facts& facts);

/// Counts the parameters where enough of the model's shape is known. Throws InputError when it
/// contradicts itself.
void count_parameters(ImportedJob& job);

/// A field of the software that the files state and a job file cannot; it is set over the
/// software's file.
struct SoftwareField {
  std::string path, value;  ///< software.launch, blocking
};
std::vector<SoftwareField> software_fields(const Facts& job);

/// Reads the facts of a `prequel/model/1` file. Throws InputError.
Facts imported_model(const Document& file);
/// The `prequel/model/1` object. Throws InputError when what is said contradicts itself.
std::string model_json(const ImportedModel& model, const std::string& origin);
/// The `prequel/job/1` file of a completed job; `origin` names the files it was made from.
std::string job_json(const ImportedJob& job, const std::string& origin);
/// The report as lines for stderr: "read: …", "assumed: …", "left out: …",
/// "ignored: …".
std::string report_text(const ImportReport& report);

/// Derives what follows from what was said (dp, nodes, vpp, batch sizes) and notes it as assumed.
void complete(Facts& job);

/// Holds what scripts and configs say against the assertions of Megatron-LM, Megatron-DeepSpeed and
/// DeepSpeed: two words on one batch size, batch sizes that do not multiply to one another, chunks
/// that do not divide a stage, flags that exclude or need each other. `job` is completed. Throws
/// InputError, beginning with `origin`, with all of them.
void refuse_contradictions(const Facts& job, const std::string& origin);

/// Every field of a model's shape with its key in `prequel/model/1`, those of experts apart.
template <class Model, class Visit>
void each_shape_field(Model& model, const Visit& visit) {
  visit("num_hidden_layers", model.layers);
  visit("hidden_size", model.hidden);
  visit("num_attention_heads", model.heads);
  visit("num_key_value_heads", model.kv_heads);
  visit("head_dim", model.head_dim);
  visit("intermediate_size", model.ffn_hidden);
  visit("vocab_size", model.vocab);
  visit("max_position_embeddings", model.max_positions);
  visit("mlp", model.mlp);
  visit("position", model.position);
  visit("norm", model.norm);
  visit("bias", model.linear_bias);
  visit("qkv_bias", model.qkv_bias);
  visit("qk_norm", model.qk_norm);
  visit("post_norms", model.post_norms);
  visit("attention_sinks", model.attention_sinks);
  visit("parallel_block", model.parallel_block);
  visit("attn_logit_softcapping", model.score_cap);
  visit("final_logit_softcapping", model.logit_cap);
  visit("tie_word_embeddings", model.tied_embeddings);
  visit("embedding_norm", model.embedding_norm);
  visit("dropout", model.dropout);
  visit("attention_dropout", model.score_dropout);
  visit("sliding_window", model.window);
  visit("attention_chunk_size", model.chunk);
  visit("full_attention_every", model.full_every);
  visit("num_nextn_predict_layers", model.next_token_layers);
}
template <class Experts, class Visit>
void each_expert_field(Experts& experts, const Visit& visit) {
  visit("num_experts", experts.count);
  visit("num_experts_per_tok", experts.top_k);
  visit("moe_intermediate_size", experts.ffn_hidden);
  visit("shared_expert_intermediate_size", experts.shared_hidden);
  visit("shared_expert_gate", experts.shared_gate);
  visit("first_k_dense_replace", experts.first_dense);
  visit("moe_layer_freq", experts.every);
  visit("n_group", experts.groups);
  visit("topk_group", experts.groups_chosen);
}
template <class Latent, class Visit>
void each_latent_field(Latent& latent, const Visit& visit) {
  visit("kv_lora_rank", latent.kv_rank);
  visit("q_lora_rank", latent.q_rank);
  visit("qk_nope_head_dim", latent.nope);
  visit("qk_rope_head_dim", latent.rope);
  visit("v_head_dim", latent.value);
}
template <class Model, class Visit>
void each_model_field(Model& model, const Visit& visit) {
  each_shape_field(model, visit);
  each_expert_field(model.experts, visit);
  each_latent_field(model.latent, visit);
}

}  // namespace prequel
