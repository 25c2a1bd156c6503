#include "cli/import/argument_dump.hpp"

#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/framework_defaults.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Values = std::map<std::string, std::string>;
using Count = std::optional<std::int64_t>;
constexpr std::int64_t kMostOfNumber = 1LL << 30;

std::string value_of(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

/// Sets a field to a positive whole number, also where it is printed as `1.0`.
void take(const Values& values, const std::string& name, const char* field, ImportedJob& job,
          std::int64_t least = 1) {
  const auto number = parse_number(value_of(values, name));
  if (!number || *number < static_cast<double>(least) ||
      *number > static_cast<double>(kMostOfNumber)) {
    return;
  }
  (void)assign(field, std::to_string(static_cast<std::int64_t>(*number)), job);
}

/// An enumerator is printed with its class, PositionEmbeddingType.alibi, and a type as PyTorch
/// names it.
std::string without_class(const std::string& value) {
  static constexpr std::pair<std::string_view, const char*> kTypes[] = {{"torch.float32", "fp32"},
                                                                        {"torch.bfloat16", "bf16"},
                                                                        {"torch.float16", "fp16"},
                                                                        {"torch.uint8", "fp8"}};
  for (const auto& [type, word] : kTypes) {
    if (value == type) return word;
  }
  const std::size_t dot = value.find('.');
  const bool enumerator = dot != std::string::npos && dot + 1 < value.size() &&
                          std::isupper(static_cast<unsigned char>(value.front())) != 0 &&
                          std::isalpha(static_cast<unsigned char>(value[dot + 1])) != 0;
  return enumerator ? value.substr(dot + 1) : value;
}

/// The flags that would have set what is not None or False: `swiglu True` is `--swiglu`.
SaidFlags as_flags(const LogSection::Arguments& arguments, const ForeignNames& names) {
  SaidFlags flags;
  for (const auto& [name, value] : arguments) {
    if (value == "None" || value == "False" || value == "[]") continue;
    if (names.has_word("only_dumped", name)) continue;
    flags.emplace_back("--" + name, value == "True" ? "" : without_class(value));
  }
  return flags;
}

/// Notes values for rules, in the place of those of another dump.
void note_facts(std::string_view of, const Values& values, ImportedJob& job) {
  job.drop_all(of);
  for (const auto& [name, value] : values) job.set(std::string(of) + name, value);
}

}  // namespace

void read_argument_dump(const std::string& file, const LogSection::Arguments& arguments,
                        ImportedJob& job) {
  if (arguments.empty()) return;
  const Values values(arguments.begin(), arguments.end());
  const Count gpus_before =
      job.value("devices")
          ? job.value("devices")
          : std::optional(job.plan.nodes.value_or(0) * job.value("devices_per_node").value_or(0));
  job.plan.recompute.reset();
  job.plan.sequence_parallel.reset();
  job.plan.zero.reset();
  ImportReport report = std::move(job.report);
  job.report = {};
  for (const char* of_files : {"--", "train_", "zero_optimization.", "mark.", "config_precision"}) {
    job.drop_all(of_files);
  }
  read_flags(file, as_flags(arguments, *job.names), job, NameSource::dump);
  follow_rules("batch sizes", job);
  // A dump has hundreds of arguments that do not matter; naming them helps nobody.
  report.assumed.insert(report.assumed.end(), job.report.assumed.begin(), job.report.assumed.end());
  report.left_out.insert(report.left_out.end(), job.report.left_out.begin(),
                         job.report.left_out.end());
  job.report = std::move(report);
  if (values.contains("pipe_parallel_size")) {  // GPT-NeoX, and Megatron-DeepSpeed of 2021
    job.set_flag("deepspeed");
    if (values.contains("zero_optimization")) job.set_flag("deepspeed_config");
  }
  take(values, "world_size", "devices", job);
  if (job.value("devices") != gpus_before)
    job.plan.nodes.reset();  // follows from the devices of a node
  take(values, "data_parallel_size", "plan.dp", job);
  take(values, "virtual_pipeline_model_parallel_size", "plan.vpp", job);
  take(values, "padded_vocab_size", "model.vocab_size", job);
  take(values, "zero_stage", "plan.zero", job, 0);
  note_facts("dump.", values, job);
  follow_rules("dump", job);
  assume_megatron_defaults(job);
}

void read_engine_arguments(const LogSection::Arguments& arguments, ImportedJob& job) {
  if (arguments.empty()) return;
  job.set_flag("deepspeed");
  job.set_flag("deepspeed_config");  // which is printed here
  const Values values(arguments.begin(), arguments.end());
  take(values, "train_batch_size", "plan.gbs", job);
  take(values, "train_micro_batch_size_per_gpu", "plan.mbs", job);
  take(values, "gradient_accumulation_steps", "gradient_accumulation_steps", job);
  if (!job.value("devices") && !job.plan.dp)
    take(values, "world_size", "plan.dp", job);  // of one replica's ranks
  take(values, "zero_optimization_stage", "plan.zero", job, 0);
  note_facts("engine.", values, job);
  follow_rules("engine", job);
}

}  // namespace prequel
