#include "cli/flags/job_flags.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/flags/flag_checks.hpp"
#include "cli/flags/flags.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

/// Returns the form of a flag's value, as help shows it.
std::string form_of(const Domain<std::int64_t>& domain) {
  constexpr std::int64_t kFew = 4;
  if (domain.most - domain.least >= kFew) return "N";
  std::string values;
  for (std::int64_t value = domain.least; value <= domain.most; ++value) {
    values += fmt::format("{}{}", values.empty() ? "" : "|", value);
  }
  return values;
}
std::string form_of(const Domain<double>& /*domain*/) {
  return "SHARE";
}
std::string form_of(const Domain<std::string>& /*domain*/) {
  return "TEXT";
}
template <Worded Enum>
std::string form_of(const Domain<WordSet<Enum>>& /*domain*/) {
  return fmt::format("{}", fmt::join(kWordsOf<Enum>, ","));
}
template <Worded Enum>
std::string form_of(const Domain<Enum>& domain) {
  return fmt::format("{}", fmt::join(words(domain), "|"));
}

template <class Axis>
void add_axis_flag(CLI::App& command, const Axis& axis, std::vector<Override>& overrides) {
  const std::string flags = flags_of(axis), help(axis.help);
  const std::string path = "plan." + std::string(axis.name);
  const std::string from = flag_of(axis.name);
  if constexpr (std::is_same_v<typename Axis::Value, bool>) {
    command
        .add_flag_function(
            flags,
            [&overrides, path, from](std::int64_t count) {
              add_override(overrides, {path, count > 0 ? "true" : "false", from});
            },
            help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->group("Plan");
  } else {
    command
        .add_option_function<std::string>(
            flags,
            [&overrides, path, from](const std::string& value) {
              add_override(overrides, {path, value, from});
            },
            help)
        ->type_name(form_of(axis.domain))
        ->group("Plan");
  }
}

}  // namespace

void add_override(std::vector<Override>& overrides, Override added) {
  // Said again by the same flag, the last counts, so that a wrapper's defaults can be overridden.
  std::erase_if(overrides, [&](const Override& one) {
    return one.path == added.path && one.from == added.from;
  });
  const auto other = std::ranges::find_if(overrides, [&](const Override& one) {
    return one.path == added.path && one.value != added.value;
  });
  if (other != overrides.end()) {
    throw InputError(fmt::format("{}: set to {} by {} and to {} by {}; one of them would do",
                                 printable(added.path), in_quotes(other->value), other->from,
                                 in_quotes(added.value), added.from));
  }
  // Each is answered without, too, so that a thousand of them would take a thousand answers.
  constexpr std::size_t kMost = 256;
  if (overrides.size() >= kMost) {
    throw InputError(fmt::format("{} {}: more than {} fields are set; a file of one's own would do",
                                 added.from, printable(added.path), kMost));
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
  add_job_fields(command, request);
}

void add_job_fields(CLI::App& command, JobRequest& request) {
  add_inputs(command, request);
  each_axis([&](const auto& axis) { add_axis_flag(command, axis, request.overrides); });
  command
      .add_option_function<std::string>(
          "--gpus",
          [&request](const std::string& value) {
            add_override(request.overrides, {"plan.gpus", value, "--gpus"});
          },
          "as many GPUs: whole nodes, or the dp that is left of a part of one")
      ->type_name("N")
      ->group("Plan");
  add_set(command, request.overrides);
}

void add_shared_axes(CLI::App& command, std::vector<Override>& overrides,
                     std::string_view but_for) {
  each_axis([&](const auto& axis) {
    if (is_listed(axis.use) || axis.name == but_for) return;
    add_axis_flag(command, axis, overrides);
  });
}

void add_plan_field(CLI::App& command, std::string_view name, std::vector<Override>& overrides) {
  each_axis([&](const auto& axis) {
    if (axis.name == name) add_axis_flag(command, axis, overrides);
  });
}

}  // namespace prequel
