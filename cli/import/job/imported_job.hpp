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

/// torchtitan's settings that no axis of a plan says as they are.
struct ImportedTorchtitan {
  std::string family, flavour;                   ///< of the model: llama3, 8B
  std::optional<std::int64_t> local_batch;       ///< sequences of a rank in a step
  std::optional<std::int64_t> micro_batch;       ///< of a pipeline
  std::optional<std::int64_t> micro_batches;     ///< of a pipeline, where their size is not said
  std::optional<std::int64_t> replicate, shard;  ///< data-parallel degrees; shard: rest if unsaid
  std::optional<std::int64_t> layers_per_stage;
  bool trains{};  ///< a script starts it, whatever its configuration says

  [[nodiscard]] bool said() const {
    return trains || !flavour.empty() || local_batch || replicate || shard || micro_batch;
  }
};

/// A number whose flag or key is not known, and the field that its name is of.
struct NumberByName {
  std::string flag;
  std::int64_t value{};
  std::string field;  ///< job/job_fields.hpp
};

/// A switch or word whose flag or key is not known, and the field that its name is of.
struct EffectByName {
  std::string said;  ///< flag and value
  std::string field, value;
  std::string what;  ///< for messages
};

/// Marks that single files leave of their program; the arguments that it prints replace them.
struct ImportedMarks {
  std::set<std::string, std::less<>> trainers;  ///< frameworks, by the names of their files
  bool model_overrides{};                       ///< sizes stand over those of a model that is named
  bool fully_sharded{};                         ///< PyTorch's FSDP shards, or not, as its flag says
  bool own_attention{};                         ///< Megatron's own, not Transformer Engine's
  bool flex_dispatcher{};  ///< which leaves it to its backend who carries tokens
  std::optional<Dispatcher> flex_backend;
  std::optional<std::int64_t> sharding_strategy;  ///< ZeRO stage of Megatron's own FSDP
};

/// A text in which a model may be named that nothing else says; the lower its rank, the likelier.
struct ImportedClue {
  int rank{};
  std::string what;  ///< for messages: a flag, a variable
  std::string text;
  bool names_models{};  ///< as `ModelClue` has it
};

/// A job as far as the files read so far say it; a file read later overrides.
struct ImportedJob {
  /// Names of other programs for what is read; empty: prequel's alone.
  std::shared_ptr<const ForeignNames> names = ForeignNames::none();
  ImportedModel model;
  PlanRequest plan;
  ImportedTorchtitan torchtitan;
  std::optional<std::int64_t> gpus;            ///< all devices of the job
  std::optional<std::int64_t> gpus_per_node;   ///< devices
  std::optional<std::int64_t> tasks_per_node;  ///< of Slurm: devices, where each task has one
  std::optional<std::int64_t> tasks;           ///< of Slurm
  std::optional<std::int64_t> gpus_per_task;   ///< devices
  std::optional<std::string> device_type;      ///< as Slurm names it: a100, h100
  std::optional<std::int64_t> gradient_accumulation_steps;
  std::optional<std::int64_t> layers_per_virtual_stage;
  std::optional<std::int64_t> first_stage_layers, last_stage_layers;  ///< of uneven pipelines
  std::int64_t idle_layers{};  ///< among those of the model, which only fill up stages
  std::optional<std::int64_t> optimizer_instances;  ///< groups that each hold all optimizer states
  std::optional<std::int64_t> sharding_ranks;       ///< of such a group
  std::array<std::optional<Precision>, 2> moments;  ///< Adam's first and second
  std::optional<bool> graphs;                       ///< whether CUDA graphs launch anything
  std::optional<WordSet<GraphedModule>> graphed;    ///< and of what, if they do
  std::optional<std::int64_t> query_groups;         ///< Megatron's, which counts only if grouped
  std::optional<std::int64_t> padded_vocab;  ///< rows of the embedding, whatever the tokenizer has
  std::optional<std::int64_t> vocab_multiple;  ///< of tp, which those rows are filled up to
  std::optional<std::int64_t> extra_vocab;     ///< rows beyond those of the tokenizer
  /// How wide the MLP is: a multiple of this, both halves of a gated one together, or this many
  /// times the hidden size.
  std::optional<std::int64_t> ffn_multiple, ffn_halves, ffn_ratio;
  std::optional<double> ffn_scale;  ///< Llama's, of the width before it is rounded up
  /// Settings that a command line makes in configurations, by the path of the value.
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> script_flags;  ///< of scripts, which go over values so named
  std::map<std::string, std::string> environment;   ///< that the user gives
  std::map<std::string, std::string> maxtext;       ///< values of the keys that are its own
  std::optional<std::int64_t> shared_experts;       ///< each as wide as the others
  std::string model_named;  ///< a model by name, where a configuration leaves its shape to others
  /// Flags and keys whose names are of models or checkpoints, with their values: perhaps a model's
  /// name.
  std::vector<std::pair<std::string, std::string>> models_perhaps;
  std::vector<ImportedClue> model_clues;
  /// Numbers of flags that are not known, whose names tell what they are; they count where none
  /// that is known says the same.
  std::vector<NumberByName> by_names;
  bool shape_by_name{};  ///< whether such numbers are of the model's layers or width
  std::vector<EffectByName> effects_by_name;
  std::optional<std::int64_t> batch_size;  ///< of a flag that some count by the device, some of all
  std::optional<std::int64_t> batch_tokens;  ///< of a step, where a batch is counted so
  std::string model_of_program;              ///< by the name of what is started: pretrain_llama3_8b
  std::string programs;                      ///< that scripts start, for messages
  std::vector<std::string> tokenizer;        ///< what names it: its files, then its type
  std::optional<double> capacity_factor;     ///< how many times the mean an expert takes
  std::string expert_layers;                 ///< Megatron's --moe-layer-freq, as it is spelt
  /// Words of a template and what `sed` puts in their place: a script fills its config so.
  std::vector<std::pair<std::string, std::string>> substitutions;
  bool grouped_queries{};
  bool narrowed_mlp{};               ///< a gated MLP without a width is Megatron's two thirds
  bool recomputes_first_layers{};    ///< of each chunk alone: Megatron's method `block`
  std::optional<Launch> launch;      ///< as the launch script's CUDA_LAUNCH_BLOCKING has it
  std::optional<bool> overlap_comm;  ///< of DeepSpeed's config
  std::optional<Precision> config_precision;  ///< of DeepSpeed's config
  /// True where inputs that tensor ranks gathered stay for the backward pass, as nanotron says it.
  std::optional<bool> keeps_gathers;
  bool script{};                      ///< whether a launch script was read
  bool deepspeed{};                   ///< whether DeepSpeed's engine trains
  bool deepspeed_config{};            ///< whether its config was read
  std::string deepspeed_config_file;  ///< that the command line names
  std::string accelerate_file;        ///< that the command line names
  /// Paths of configurations, as scripts and other configurations name them.
  std::vector<std::string> files_named;
  std::vector<std::string> bases_named;          ///< and of those that they extend
  bool yaml_config{};                            ///< whether a configuration in YAML was read
  std::string yaml_config_file;                  ///< that the command line names
  bool megatron_core{};                          ///< whether it is Megatron-LM of 2023 or later
  std::optional<std::string> cluster, software;  ///< names that the user gave
  /// Flags and keys that set something, as they are spelt; switches as 1. Two that must agree are
  /// both here, though only one of them made the plan.
  std::map<std::string, std::int64_t, std::less<>> said;
  std::set<std::string, std::less<>> unresolved;  ///< flags whose value only a run would tell
  /// Texts that rules ask for, too: of the user's words (user.plan.tp), of the stack (stack.name).
  std::map<std::string, std::string, std::less<>> facts;
  ImportedMarks marks;
  ImportReport report;

  /// Tests whether the files are of this framework: a data file in data/import/.
  [[nodiscard]] bool is_of(std::string_view framework) const;
  /// Returns the unresolved flags that dp follows from; empty where all are known.
  [[nodiscard]] std::string unresolved_degrees() const;
  [[nodiscard]] bool says(std::string_view flag) const { return said.find(flag) != said.end(); }
  [[nodiscard]] std::optional<std::int64_t> value(std::string_view flag) const {
    const auto found = said.find(flag);
    return found == said.end() ? std::nullopt : std::optional(found->second);
  }
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
