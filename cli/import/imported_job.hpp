#pragma once

/// What files of other tools say of a training job, and what prequel made of them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/plan.hpp"
#include "models/transformer.hpp"

namespace prequel {

/// What was read, what prequel took as given though no file says it, what was measured but is not
/// used, and the names of what it does not use.
struct ImportReport {
  std::vector<std::string> read, assumed, left_out, ignored;
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
};

/// A job as far as the files read so far say it; a file read later overrides.
struct ImportedJob {
  ImportedModel model;
  PlanRequest plan;
  std::optional<std::int64_t> gpus;            ///< all devices of the job
  std::optional<std::int64_t> gpus_per_node;   ///< devices
  std::optional<std::int64_t> tasks_per_node;  ///< of Slurm: devices, where each task has one
  std::optional<std::string> device_type;      ///< as Slurm names it: a100, h100
  std::optional<std::int64_t> gradient_accumulation_steps;
  std::optional<std::int64_t> layers_per_virtual_stage;
  std::optional<std::int64_t> query_groups;  ///< Megatron's, which counts only if grouped
  bool grouped_queries{};
  bool recomputes_first_layers{};  ///< of each stage only: Megatron's method `block`
  std::optional<Launch> launch;    ///< as the launch script's CUDA_LAUNCH_BLOCKING has it
  bool deepspeed{};                ///< whether DeepSpeed's engine trains
  bool megatron_core{};            ///< whether it is Megatron-LM of 2023 or later
  std::optional<std::string> cluster, software;  ///< names that the user gave
  ImportReport report;
};

/// Derives what follows from what was said (dp, nodes, vpp, global batch) and notes it as assumed.
void complete(ImportedJob& job);

/// The `prequel/model/1` object. Throws InputError when what is said contradicts itself.
std::string model_json(const ImportedModel& model, const std::string& origin);
/// The `prequel/job/1` file of a completed job; `origin` names the files it was made from.
std::string job_json(const ImportedJob& job, const std::string& origin);
/// The report as lines for stderr: "read: …", "assumed: …", "left out: …",
/// "ignored: …".
std::string report_text(const ImportReport& report);

}  // namespace prequel
