#include "cli/compare/compare_answer.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/flags/job_flags.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/flags/value_lists.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/translate/idle_settings.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axes.hpp"

namespace prequel {
namespace {

/// One side in words: a job, and fields with values.
struct SideWords {
  std::optional<std::string> job;
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Reads the words of a side. A part without an equals sign is the job where it comes first, else
/// more of the list before it, as in "overlap=tp,ep".
SideWords words_of(const std::string& text) {
  SideWords words;
  bool is_first = true;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (part.empty() || equals == 0) {
      throw InputError(fmt::format("compare: {}: expected a job, FIELD=VALUE, or both, with commas",
                                   in_quotes(text)));
    }
    if (equals != std::string::npos) {
      words.fields.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    } else if (is_first) {
      words.job = part;
    } else if (words.fields.empty()) {
      throw InputError(fmt::format("compare: {}: {} follows a job and is no FIELD=VALUE",
                                   in_quotes(text), in_quotes(part)));
    } else {
      words.fields.back().second += "," + part;
    }
    is_first = false;
  }
  return words;
}

bool is_axis(std::string_view name) {
  bool found = false;
  each_axis([&](const auto& axis) { found = found || axis.name == name; });
  return found;
}

std::vector<std::string> known_fields() {
  std::vector<std::string> names{"model", "cluster", "device", "software"};
  each_axis([&](const auto& axis) { names.emplace_back(axis.name); });
  return names;
}

void set_field(JobRequest& request, const std::string& side, std::string field,
               const std::string& value) {
  const std::string from = fmt::format("compare: {}: {}", printable(side), printable(field));
  if (value.empty()) throw InputError(from + ": expected a value, got none");
  if (field == "model") {
    request.model = value;
  } else if (field == "cluster") {
    request.cluster = value;
  } else if (field == "device") {
    request.device = value;
  } else if (field == "software") {
    request.software = value;
  } else if (field.find('.') != std::string::npos) {
    request.overrides.push_back({field, value, from});
  } else {
    std::ranges::replace(field, '-', '_');
    if (!is_axis(field)) throw InputError(from + ": unknown" + did_you_mean(field, known_fields()));
    const std::string word = value == "on" ? "true" : value == "off" ? "false" : value;
    request.overrides.push_back({"plan." + field, word, from});
  }
}

ComparedSide predicted(const Library& library, const CompareOptions& options,
                       const std::string& side, const SideWords& words,
                       const Uncertainty& uncertainty, const Tell& tell) {
  JobRequest request = options.request;
  request.job = words.job;
  for (const auto& [field, value] : words.fields) set_field(request, side, field, value);
  request = translated(request, options.script, library, tell);
  // Held against an answer without a setting, that something was set is no effect of it.
  const auto answer_of = [&](const JobRequest& asked, bool compares) {
    ResolvedScenario resolved = resolve(read_job(library, asked));
    if (compares) resolved.scenario.edited.clear();
    ComparedSide result;
    result.scenario = std::move(resolved.scenario);
    result.prediction = predict(result.scenario);
    std::vector<std::string>& warnings = result.prediction.warnings;
    warnings.insert(warnings.begin(), resolved.warnings.begin(), resolved.warnings.end());
    result.interval = interval(result.scenario, result.prediction, uncertainty);
    return result;
  };
  const auto told = [&](const JobRequest& asked) {
    const ComparedSide of = answer_of(asked, true);
    PredictionDetails details;
    details.interval = of.interval;
    return prediction_json(of.scenario, of.prediction, std::nullopt, details);
  };
  ComparedSide result = answer_of(request, false);
  result.asked = side;
  for (std::string& idle : idle_settings(request, {told})) {
    result.prediction.warnings.push_back(std::move(idle));
  }
  return result;
}

/// Text as it is, lists as their words.
std::string plain(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& word : value) text += (text.empty() ? "" : " ") + plain(word);
  return text.empty() ? "none" : text;
}

std::vector<UnlikeInput> unlike_inputs(const Scenario& a, const Scenario& b) {
  std::vector<UnlikeInput> unlike;
  const auto add = [&](const std::string& path, const std::string& first,
                       const std::string& second) {
    if (first != second) unlike.push_back({path, {first, second}});
  };
  add("model", a.model.name, b.model.name);
  add("cluster", a.cluster.name, b.cluster.name);
  add("device", a.device.name, b.device.name);
  add("software", a.software.name, b.software.name);
  const auto plan = plan_json(a.plan), other_plan = plan_json(b.plan);
  for (const auto& [axis, value] : plan.items()) {
    const auto& other = other_plan.at(axis);
    if (value != other) add("plan." + axis, plain(value), plain(other));
  }
  const auto& stack = a.software;
  const auto& other_stack = b.software;
  add("software.launch", std::string(name(stack.host.launch)),
      std::string(name(other_stack.host.launch)));
  add("software.kernels.flash_kernel", stack.kernels.flash_kernel,
      other_stack.kernels.flash_kernel);
  // Numbers of other cards and sites differ as a matter of course.
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const auto first = fields_of(a, Uncertain(i)), second = fields_of(b, Uncertain(i));
    for (const UncertainField& field : first) {
      const std::string input = field.path.substr(0, field.path.find('.'));
      if (input == "device" && a.device.name != b.device.name) continue;
      if (input == "cluster" && a.cluster.name != b.cluster.name) continue;
      const auto other = std::ranges::find(second, field.path, &UncertainField::path);
      if (other == second.end()) continue;
      add(field.path, fmt::format("{:.6g}", field.value), fmt::format("{:.6g}", other->value));
    }
  }
  return unlike;
}

/// Adds what the sides say of files beside the known differences.
void add_said(const SideWords& a, const SideWords& b, std::vector<UnlikeInput>& unlike) {
  const auto said = [](const SideWords& side, const std::string& field) -> std::string {
    for (const auto& [name, value] : side.fields) {
      if (name == field) return value;
    }
    return "as in its file";
  };
  for (const SideWords* side : {&a, &b}) {
    for (const auto& [field, value] : side->fields) {
      const bool of_files = field.find('.') != std::string::npos || field == "model" ||
                            field == "cluster" || field == "device" || field == "software";
      const bool known = std::ranges::find(unlike, field, &UnlikeInput::path) != unlike.end();
      if (!of_files || field.starts_with("plan.") || known) continue;
      const std::string first = said(a, field), second = said(b, field);
      if (first != second) unlike.push_back({field, {first, second}});
    }
  }
}

}  // namespace

double ComparedSide::tokens_per_iteration() const {
  return tokens_of_step(scenario.plan);
}

bool CompareAnswer::is_no() const {
  return first.prediction.verdict == MemoryVerdict::oom ||
         second.prediction.verdict == MemoryVerdict::oom;
}

CompareAnswer answer_compare(const Library& library, const CompareOptions& options,
                             const Tell& tell) {
  const SideWords first = words_of(options.first);
  SideWords second = words_of(options.second);
  if (!second.job) second.job = first.job;
  const Uncertainty uncertainty = shipped_uncertainty(library);
  CompareAnswer answer;
  answer.first = predicted(library, options, options.first, first, uncertainty, tell);
  answer.second = predicted(library, options, options.second, second, uncertainty, tell);
  const auto side = [](const ComparedSide& one) {
    return ComparedAnswer{one.scenario, one.prediction, one.interval};
  };
  answer.difference = difference(side(answer.first), side(answer.second), uncertainty);
  answer.unlike = unlike_inputs(answer.first.scenario, answer.second.scenario);
  add_said(first, second, answer.unlike);
  return answer;
}

void add_compare(CLI::App& app, CompareOptions& options, const Action& action) {
  CLI::App& command = *app.add_subcommand(
      "compare", "Tells two plans, clusters, stacks or releases apart, and how surely");
  command.footer(
      "  prequel compare bloom-176b-jean-zay mbs=1,recompute=none\n"
      "  prequel compare cluster=dgx-a100 cluster=dgx-h100 --model gpt3-175b --nodes 48 --tp 8 "
      "--pp 12 --gbs 1536\n");
  constexpr const char* kSide =
      "a job, or the fields of this side that differ (FIELD=VALUE,…), or both: JOB,tp=4; fields "
      "are axes of the plan, model, cluster, device, software, and paths as of --set";
  command.add_option("a", options.first, kSide)->required();
  command
      .add_option("b", options.second,
                  "the other one, likewise; where it names no job, it is that of a")
      ->required();
  add_job_fields(command, options.request);
  add_script(command, options.script);
  add_format(command, options.format, false);
  command.callback(action);
}

}  // namespace prequel
