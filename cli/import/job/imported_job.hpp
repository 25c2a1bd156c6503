#pragma once

/// Contents of other tools' files about a training job, as prequel reads them.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/import/job/foreign_names.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// The report of an import: what was read, what prequel assumed though no file says it, what was
/// measured or would change the prediction but is not used, and the names of all else that was
/// passed over.
struct ImportReport {
  std::vector<std::string> read, assumed, left_out, ignored;
  /// The model's parameters, where its shape is known whole: all, and those that a token passes.
  std::optional<std::int64_t> parameters, active_parameters;
};

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
  std::string spec;  ///< where Megatron finds its layers: a module, and a name in it
};

/// A value whose flag or key is not known, and the field that its name is of.
struct Guess {
  std::string field, value;
  bool number{};     ///< a whole number, which knows what it is of better than a switch or a word
  std::string said;  ///< flag and value
  std::string told;  ///< for messages: `layers 24: --my-layers`
};

/// Words of the files by name: flags and keys as they are spelt (switches as 1), fields of a job
/// that are neither of its plan nor of its model (`devices_per_node`), marks of the programs that
/// wrote the files (`mark.fully_sharded`), flags whose value only a run would tell
/// (`open.--nnodes`), and what rules ask of the user and the stack (`user.plan.tp`, `stack.name`).
class Facts {
 public:
  [[nodiscard]] bool says(std::string_view name) const { return facts_.find(name) != facts_.end(); }
  /// Returns the text of a fact; an empty one where nothing says it.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> value(std::string_view name) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  [[nodiscard]] const auto& all() const { return facts_; }

  /// Sets a text; an empty one takes it back.
  void set(const std::string& name, std::string text);
  void set_flag(const std::string& name, bool is = true) { set(name, is ? "true" : "false"); }
  /// Sets a number; nothing takes it back.
  void set_number(const std::string& name, std::optional<std::int64_t> number);
  /// Notes that a flag is there, unless its value is known.
  void note(const std::string& flag) { facts_.try_emplace(flag, "1"); }
  void drop(const std::string& name) { facts_.erase(name); }
  /// Drops all whose names begin so.
  void drop_all(std::string_view begin);

 private:
  std::map<std::string, std::string, std::less<>> facts_;
};

/// How likely a text names the model that is trained.
enum class ClueRank : std::uint8_t {
  named,
  flag,  ///< whose name is of models or checkpoints
  configuration,
  variable,
  program,
  word,
  tokenizer,
  file
};

/// A text in which a model may be named that nothing else says.
struct ImportedClue {
  ClueRank rank{};
  std::string what;  ///< for messages: a flag, a variable
  std::string text;
  bool names_models{};  ///< as `ModelClue` has it
};

/// A job as far as the files read so far say it; a file read later overrides.
struct ImportedJob : Facts {
  /// Names of other programs for what is read; empty: prequel's alone.
  std::shared_ptr<const ForeignNames> names = ForeignNames::none();
  ImportedModel model;
  PlanRequest plan;
  std::optional<std::string> cluster, software;  ///< names that the user gave
  /// Settings that a command line makes in configurations, by the path of the value.
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> script_flags;  ///< of scripts, which go over values so named
  std::map<std::string, std::string> environment;   ///< that the user gives
  std::vector<ImportedClue> model_clues;
  /// Values of flags that are not known, whose names tell what they are; they count where none
  /// that is known says the same.
  std::vector<Guess> guesses;
  std::vector<std::string> tokenizer;  ///< what names it: its files, then its type
  /// Words of a template and what `sed` puts in their place: a script fills its config so.
  std::vector<std::pair<std::string, std::string>> substitutions;
  /// Paths of configurations, as scripts and other configurations name them.
  std::vector<std::string> files_named;
  std::vector<std::string> bases_named;  ///< and of those that they extend
  ImportReport report;

  /// Tests whether the files are of this framework: a data file in data/import/.
  [[nodiscard]] bool is_of(std::string_view framework) const;
  /// Returns the unresolved flags that dp follows from; empty where all are known.
  [[nodiscard]] std::string unresolved_degrees() const;
};

/// Counts the parameters where enough of the model's shape is known. Throws InputError when it
/// contradicts itself.
void count_parameters(ImportedJob& job);

/// A field of the software that the files state and a job file cannot; it is set over the
/// software's file.
struct SoftwareField {
  std::string path, value;  ///< software.launch, blocking
};
std::vector<SoftwareField> software_fields(const ImportedJob& job);

/// Reads a `prequel/model/1` file. Throws InputError.
ImportedModel imported_model(const Document& file);
/// Fills what a model's shape lacks with what another one says.
void take_what_is_missing(const ImportedModel& known, ImportedModel& model);
/// The `prequel/model/1` object. Throws InputError when what is said contradicts itself.
std::string model_json(const ImportedModel& model, const std::string& origin);
/// The `prequel/job/1` file of a completed job; `origin` names the files it was made from.
std::string job_json(const ImportedJob& job, const std::string& origin);
/// The report as lines for stderr: "read: …", "assumed: …", "left out: …",
/// "ignored: …".
std::string report_text(const ImportReport& report);

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
