#include "cli/import/mlperf_variables.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostSequences = 1LL << 30;  // of a step

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

/// The benchmark of fine-tuning has one model and one way, which data/import/mlperf.json says.
void read_fine_tuning(const MlperfVariables& said, Facts& job) {
  const Framework& mlperf = job.names->framework("mlperf");
  for (const Rule& one : mlperf.defaults) {
    const OriginScope from(job, {Sureness::usual, {}, one.told});
    take_effect(one.set, job);
    job.report.assumed.push_back(one.told);
  }
  if (!job.says("software")) job.set("software", mlperf.stack);
  const bool narrow = !said.off("FP8");
  job.set("plan.precision", narrow ? "fp8" : "bf16");
  if (narrow) job.set("plan.base_precision", "fp8");
}

}  // namespace

bool read_mlperf_variables(const std::string& file, const ShellState& state, Facts& job) {
  const MlperfVariables said(state);
  const auto nodes = said.number("DGXNODES");
  const auto devices = said.number("DGXNGPU");
  const auto rows = said.number("MINIBS");
  if (!nodes || !devices || !rows || *nodes < 1 || *devices < 1 || *rows < 1) return false;
  const OriginScope from(job, {Sureness::stated, file, "MLPerf's variables"});
  const auto set = [&](const char* flag, const char* field, std::int64_t value) {
    job.set_number(flag, value);
    (void)assign(field, std::to_string(value), job);
    return value;
  };
  const auto degree = [&](const char* name, const char* flag, const char* field) {
    return set(flag, field, std::max<std::int64_t>(1, said.number(name).value_or(1)));
  };
  set("--nnodes", "plan.nodes", *nodes);
  set("--nproc-per-node", "devices_per_node", *devices);
  const std::int64_t ranks = degree("TP", "--tensor-model-parallel-size", "plan.tp") *
                             degree("PP", "--pipeline-model-parallel-size", "plan.pp") *
                             degree("CP", "--context-parallel-size", "plan.cp");  // of a replica
  if (said.on("SP")) job.set_flag("plan.sequence_parallel");
  set("--micro-batch-size", "plan.mbs", said.number("MBS").value_or(1));
  const std::int64_t sequences = *rows * (*nodes * *devices / ranks);
  if (sequences > kMostSequences) {
    throw InputError(fmt::format("{}: MINIBS {} of {} replicas: expected at most {} sequences",
                                 file, *rows, *nodes * *devices / ranks, kMostSequences));
  }
  set("--global-batch-size", "plan.gbs", sequences);
  if (said.on("FP8_ACT")) job.set_flag("plan.fp8_activation_store");
  if (said.on("FP8_DPA")) job.set_flag("plan.fp8_attention");
  job.set_flag("script");
  job.report.read.push_back(file + ": MLPerf's variables");
  const bool tunes = said.has("LORA_A2A") || lower_case(file).find("lora") != std::string::npos;
  if (tunes) read_fine_tuning(said, job);
  return true;
}

}  // namespace prequel
