#include "cli/job_flags.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/flag_checks.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr PlanFlag kPlanFlags[] = {
    {"--nodes", "nodes", "nodes in use"},
    {"--dp,--data-parallel-size", "dp", "data-parallel degree"},
    {"--tp,--tensor-model-parallel-size", "tp", "tensor-parallel degree"},
    {"--pp,--pipeline-model-parallel-size", "pp", "pipeline stages"},
    {"--cp,--context-parallel-size", "cp", "context-parallel degree"},
    {"--ep,--expert-model-parallel-size", "ep", "expert-parallel degree"},
    {"--vpp", "vpp", "model chunks per pipeline stage"},
    {"--mbs,--micro-batch-size", "mbs", "micro batch, sequences"},
    {"--gbs,--global-batch-size", "gbs", "global batch, sequences"},
    {"--seq-len,--seq-length", "seq_len", "tokens of a sequence"},
    {"--zero,--zero-stage", "zero", "ZeRO stage", "0|1|2|3"},
    {"--offload", "offload", "what host memory holds", "none|optimizer|optimizer+params"},
    {"--recompute", "recompute", "activations that the backward pass recomputes",
     "none|selective|full"},
    {"--recompute-layers,--recompute-num-layers", "recompute_layers",
     "layers between two checkpoints of full recompute"},
    {"--precision", "precision", "of matrix products", "fp32|tf32|fp16|bf16|fp8"},
    {"--attention", "attention", "its implementation", "unfused|fused-softmax|flash"},
    {"--schedule", "schedule", "pipeline schedule",
     "gpipe|1f1b|interleaved-1f1b|zb-h1|zb-h2|dualpipe"},
};

void add_plan_flag(CLI::App& command, const PlanFlag& flag, std::vector<Override>& overrides) {
  const std::string path = std::string("plan.") + flag.field;
  const std::string first = std::string(flag.flags).substr(0, std::string(flag.flags).find(','));
  command
      .add_option_function<std::string>(
          flag.flags,
          [&overrides, path, first](const std::string& value) {
            add_override(overrides, {path, value, first});
          },
          flag.help)
      ->type_name(flag.values)
      ->group("Plan");
}

void add_plan_flags(CLI::App& command, std::vector<Override>& overrides) {
  for (const PlanFlag& flag : kPlanFlags) add_plan_flag(command, flag, overrides);
  command
      .add_flag_function(
          "--sequence-parallel,!--no-sequence-parallel",
          [&overrides](std::int64_t count) {
            add_override(overrides, {"plan.sequence_parallel", count > 0 ? "true" : "false",
                                     "--sequence-parallel"});
          },
          "split norms and dropouts over the tensor-parallel group")
      ->group("Plan");
}

}  // namespace

void add_override(std::vector<Override>& overrides, Override added) {
  const auto other = std::ranges::find_if(overrides, [&](const Override& one) {
    return one.path == added.path && one.value != added.value;
  });
  if (other != overrides.end()) {
    throw InputError(fmt::format("{}: set to {} by {} and to {} by {}; one of them would do",
                                 printable(added.path), in_quotes(other->value), other->from,
                                 in_quotes(added.value), added.from));
  }
  overrides.push_back(std::move(added));
}

void add_format(CLI::App& command, OutputFormat& format, bool with_csv) {
  CLI::Option* json = command.add_flag_callback(
      "--json", [&format] { format = OutputFormat::json; }, "print one JSON document");
  if (!with_csv) return;
  command
      .add_flag_callback(
          "--csv", [&format] { format = OutputFormat::csv; }, "print one table")
      ->excludes(json);
}

void add_report(CLI::App& command, std::string& file) {
  command.add_option("--report", file, "write a report that a browser shows")
      ->type_name("FILE.html")
      ->check(file_beside_answer());
}

void add_emit(CLI::App& command, std::string& framework,
              std::initializer_list<const char*> others) {
  CLI::Option* emit =
      command
          .add_option("--emit", framework, "print the plan as the launch of this framework instead")
          ->type_name("megatron|deepspeed|fsdp")
          ->check(CLI::IsMember({"megatron", "deepspeed", "fsdp"}).description(""));
  for (const char* other : others) emit->excludes(command.get_option(other));
}

void add_set(CLI::App& command, std::vector<Override>& overrides) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&overrides](const std::vector<std::string>& settings) {
            for (const std::string& setting : settings) {
              const std::size_t equals = setting.find('=');
              if (equals == std::string::npos) {
                throw InputError("--set " + setting + ": expected PATH=VALUE");
              }
              add_override(overrides,
                           {setting.substr(0, equals), setting.substr(equals + 1), "--set"});
            }
          },
          "override any field: software.launch=blocking, device.clock_ghz=2.2")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

void add_name(CLI::App& command, const char* flag, std::optional<std::string>& name,
              const char* help) {
  command.add_option_function<std::string>(
      flag, [&name](const std::string& value) { name = value; }, help);
}

void add_inputs(CLI::App& command, JobRequest& request) {
  add_name(command, "--model", request.model, "model name or file, or a Hugging Face config.json");
  add_name(command, "--cluster", request.cluster, "cluster name or file");
  add_name(command, "--device", request.device, "device name or file");
  add_name(command, "--software", request.software, "software stack name or file");
}

void add_script(CLI::App& command, ScriptInputs& script) {
  command
      .add_option_function<std::string>(
          "--args", [&script](const std::string& words) { script.arguments = words; },
          "arguments of the launch script: \"dsw 7B 1\"")
      ->type_name("\"A B …\"")
      ->group("Launch script");
  command
      .add_option("--env", script.environment,
                  "a variable of the launch script's environment (repeatable)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group("Launch script");
}

void add_job(CLI::App& command, JobRequest& request) {
  command.add_option_function<std::string>(
      "job", [&request](const std::string& job) { request.job = job; },
      "job file, the name of a shipped one, or a Megatron launch script or log (- for stdin)");
  add_inputs(command, request);
  add_plan_flags(command, request.overrides);
  add_set(command, request.overrides);
}

void add_plan_field(CLI::App& command, std::string_view field, std::vector<Override>& overrides) {
  for (const PlanFlag& flag : kPlanFlags) {
    if (flag.field == field) add_plan_flag(command, flag, overrides);
  }
}

}  // namespace prequel
