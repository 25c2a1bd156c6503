#include "cli/import/mlperf_variables.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

/// The values of a script's variables.
class MlperfVariables {
 public:
  explicit MlperfVariables(const ShellState& state) : state_(state) {}

  [[nodiscard]] bool has(const char* name) const { return state_.variables.contains(name); }
  /// Returns a count that is set. Throws InputError above a million: products of three are no
  /// overflow.
  [[nodiscard]] std::optional<std::int64_t> number(const char* name) const {
    constexpr std::int64_t kMost = 1 << 20;
    const auto found = state_.variables.find(name);
    if (found == state_.variables.end()) return std::nullopt;
    const auto value = parse_integer(found->second);
    if (value && *value > kMost) {
      throw InputError(fmt::format("{}: expected at most {}, got {}", name, kMost, *value));
    }
    return value;
  }
  /// Tests whether the variable is set, and to yes.
  [[nodiscard]] bool on(const char* name) const {
    const auto found = state_.variables.find(name);
    if (found == state_.variables.end()) return false;
    const std::string value = lower_case(found->second);
    return value == "1" || value == "true";
  }
  [[nodiscard]] bool off(const char* name) const { return has(name) && !on(name); }

 private:
  const ShellState& state_;
};

void read_fine_tuning(const MlperfVariables& said, ImportedJob& job) {
  constexpr std::int64_t kRank = 16, kTokens = 8192;
  PlanRequest& plan = job.plan;
  if (job.model_named.empty()) job.model_named = "meta-llama/Llama-2-70b-hf";
  plan.tuning = Tuning::lora;
  plan.lora_rank = kRank;
  plan.lora_targets = WordSet<AdapterTarget>{AdapterTarget::qkv, AdapterTarget::o};
  if (!plan.seq_len) plan.seq_len = kTokens;
  if (!job.software) job.software = "mlperf-v5.1";
  const bool narrow = !said.off("FP8");
  plan.precision = narrow ? Precision::fp8 : Precision::bf16;
  if (narrow) plan.base_precision = BaseFormat::fp8;
  job.report.assumed.emplace_back(
      "llama-2-70b, seq_len 8192, LoRA of rank 16 on attention: MLPerf's benchmark of fine-tuning "
      "has no other");
}

}  // namespace

bool read_mlperf_variables(const std::string& file, const ShellState& state, ImportedJob& job) {
  const MlperfVariables said(state);
  const auto nodes = said.number("DGXNODES");
  const auto devices = said.number("DGXNGPU");
  const auto rows = said.number("MINIBS");
  if (!nodes || !devices || !rows || *nodes < 1 || *devices < 1 || *rows < 1) return false;
  std::int64_t ranks = 1;  // of a replica
  std::vector<std::string> words{"--nnodes", fmt::format("{}", *nodes), "--nproc-per-node",
                                 fmt::format("{}", *devices)};
  const auto degree = [&](const char* name, const char* flag) {
    const std::int64_t value = std::max<std::int64_t>(1, said.number(name).value_or(1));
    ranks *= value;
    words.insert(words.end(), {flag, fmt::format("{}", value)});
  };
  degree("TP", "--tensor-model-parallel-size");
  degree("PP", "--pipeline-model-parallel-size");
  degree("CP", "--context-parallel-size");
  if (said.on("SP")) words.emplace_back("--sequence-parallel");
  words.insert(words.end(),
               {"--micro-batch-size", fmt::format("{}", said.number("MBS").value_or(1))});
  const std::int64_t replicas = *nodes * *devices / ranks;
  words.insert(words.end(), {"--global-batch-size", fmt::format("{}", *rows * replicas)});
  read_megatron_arguments(file, words, job);
  if (said.on("FP8_ACT")) job.plan.fp8_activation_store = true;
  if (said.on("FP8_DPA")) job.plan.fp8_attention = true;
  job.script = true;
  job.report.read.push_back(file + ": MLPerf's variables");
  const bool tunes = said.has("LORA_A2A") || lower_case(file).find("lora") != std::string::npos;
  if (tunes) read_fine_tuning(said, job);
  return true;
}

}  // namespace prequel
