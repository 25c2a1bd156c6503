#include "cli/mcp/tools.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/calibrate/runs_answer.hpp"
#include "cli/call/call.hpp"
#include "cli/mcp/output_schema.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kSaveAs = "save_as";
constexpr const char* kSaveData = "save_data_as";
constexpr int kShownPlans = 5;
constexpr std::size_t kShownRuns = 10;

struct Tool {
  std::string_view name;
  const char* command;
  const char* schema;  ///< of the document; empty: none, the answers are of many kinds
  const char* title;
  const char* description;
};

constexpr std::array kTools{
    Tool{"predict", "predict", "prediction-1", "Predict one training plan",
         "Seconds per iteration, memory, MFU and where the time goes for one way to train a model "
         "on a cluster. Name a shipped job, or model, cluster and plan (nodes, tp, pp, mbs, gbs, "
         "...). Says whether it fits: verdict fits, tight or oom."},
    Tool{"search", "search", "search-1", "Search the best layout",
         "Every legal plan under the limits given, the fastest first; axes that are left out are "
         "searched. Needs model, cluster and gbs, or a job. Says what to relax where nothing fits, "
         "and with explain why a layout is not the best."},
    Tool{
        "compare", "compare", "job-comparison-1", "Compare two plans, clusters or stacks",
        "What differs between two ways to train, by kind of work, how many times as fast the "
        "second "
        "is with its interval, and the odds that the first is faster; errors that both share "
        "cancel. A side is a job, or an object of what is said otherwise (axes of the plan, model, "
        "cluster, software, job)."},
    Tool{"explain", "predict", "prediction-1", "Explain what a step costs",
         "Why kernels of a predicted step take the time they take: shape, FLOPs, bytes, the limit "
         "that binds, where its constants come from. Arguments as for predict; explain names "
         "kernels (all where it is left out)."},
    Tool{"validate", "validate", "validation-1", "Compare with measured runs",
         "Predicts each row of tables of measured runs (CSV, columns as in data/runs) and says "
         "how far off the predictions are, by group."},
    Tool{
        "calibrate_runs", "calibrate runs", "run-fit-1", "Fit constants to measured runs",
        "The most probable constants of device, cluster and software files from tables of measured "
        "runs: what each tells, held-out errors with and without. Files that change are written "
        "only where a folder was opened."},
    Tool{"import", "import", "", "Read other tools' files",
         "Hugging Face config.json, Megatron launch script, DeepSpeed ds_config.json, YAML, "
         "torchtitan's TOML or training log to a job or a table of runs, with what was read, "
         "assumed, left out and ignored."},
    Tool{"show", "show", "", "Show what is known",
         "Names of models, devices, clusters, software and jobs; with a name the whole file, with "
         "the origin of its numbers."},
};

const Tool* find_tool(std::string_view name) {
  const auto found = std::ranges::find(kTools, name, &Tool::name);
  return found == kTools.end() ? nullptr : &*found;
}

bool writes_data(const Tool& tool) {
  return std::string_view(tool.name) == "calibrate_runs";
}

Json schema_of(const Tool& tool, const McpSession& session) {
  Json schema = arguments_schema(tool.command);
  if (!session.options.folder.empty()) {
    schema["properties"][kSaveAs] = {
        {"type", "string"},
        {"description", "write the whole answer to this file of the folder that was opened"}};
  }
  if (!session.options.folder.empty() && writes_data(tool)) {
    schema["properties"][kSaveData] = {
        {"type", "string"},
        {"description", "write the files that changed to a new data folder of this name in it"}};
  }
  return schema;
}

/// Nothing where data/ holds no schemas: tools work without.
std::optional<Json> output_schema_of(const Tool& tool, const Library& library) {
  if (std::string_view(tool.schema).empty()) return Json{{"type", "object"}};
  try {
    return short_form_schema(tool.schema, library);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The rows that are the farthest off; those without an error come last.
void keep_worst_runs(Json& runs) {
  const auto error = [](const Json& run) {
    const Json none = Json::object();
    const Json& errors = run.contains("error") ? run["error"] : none;
    return errors.contains("sec_per_iter") ? std::abs(errors["sec_per_iter"].get<double>()) : -1.0;
  };
  auto& rows = runs.get_ref<Json::array_t&>();
  std::ranges::stable_sort(rows, std::greater{}, error);
  if (rows.size() > kShownRuns) rows.resize(kShownRuns);
}

/// What of a document an agent reads; the whole one can be saved.
Json compact(const std::string& tool, Json document) {
  if (tool == "predict" || tool == "explain") {
    document.erase("stages");
    if (tool == "predict") document.erase("kernels");
    for (Json& stage : document["memory"]["stages"]) {
      stage = {
          {"stage", stage["stage"]}, {"layers", stage["layers"]}, {"peak_gib", stage["peak_gib"]}};
    }
  }
  if (tool == "search") {
    document.erase("pareto");
    for (Json& plan : document["plans"]) {
      for (const char* detail : {"gains_of_10_percent_more", "model_shape", "breakdown_s"}) {
        plan.erase(detail);
      }
    }
    if (const auto refused = document.find("refused"); refused != document.end()) {
      while (refused->size() > kShownPlans) refused->erase(refused->size() - 1);
    }
  }
  if (tool == "compare") {
    for (const char* side : {"a", "b"}) document[side].erase("plan");
  }
  if (tool == "validate") keep_worst_runs(document["runs"]);
  return document;
}

/// Where a name that a call gives lies in the folder. Throws InputError for what is no plain name.
fs::path place_in(const std::string& folder, const char* argument, const Json& name) {
  const auto is_plain = [](const std::string& word) {
    return !word.empty() && word.size() <= 100 && word.front() != '.' &&
           std::ranges::all_of(word, [](unsigned char c) {
             return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
           });
  };
  if (!name.is_string() || !is_plain(name.get<std::string>())) {
    throw InputError(
        fmt::format("{}: {}: expected a name of letters, digits, . - _", argument,
                    printable(name.dump(-1, ' ', false, Json::error_handler_t::replace))));
  }
  return fs::path(folder) / name.get<std::string>();
}

/// The file of the folder that a call names. Throws InputError for anything else.
std::string file_to_save(const std::string& folder, const Json& name) {
  const fs::path path = place_in(folder, kSaveAs, name);
  const fs::file_status status = fs::symlink_status(path);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw InputError(fmt::format("{}: {}: no plain file; another name would do", kSaveAs,
                                 printable(path.string(), 4096)));
  }
  return path.string();
}

/// The data folder in it that a call names, which is to be made.
std::string data_to_save(const std::string& folder, const Json& name) {
  const fs::path path = place_in(folder, kSaveData, name);
  if (fs::exists(fs::symlink_status(path))) {
    throw InputError(fmt::format("{}: {}: is there already; another name would do", kSaveData,
                                 printable(path.string(), 4096)));
  }
  return path.string();
}

Json text_content(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

}  // namespace

Json list_tools(const McpSession& session) {
  const Library library(session.calls.data_directories, {{}, session.calls.files});
  Json tools = Json::array();
  for (const Tool& tool : kTools) {
    Json listed{{"name", std::string(tool.name)},
                {"title", tool.title},
                {"description", tool.description},
                {"inputSchema", schema_of(tool, session)}};
    if (auto schema = output_schema_of(tool, library)) listed["outputSchema"] = std::move(*schema);
    listed["annotations"] = {{"title", tool.title},
                             {"readOnlyHint", session.options.folder.empty()},
                             {"destructiveHint", false},
                             {"idempotentHint", true},
                             {"openWorldHint", false}};
    tools.push_back(std::move(listed));
  }
  return tools;
}

std::string misuse(const std::string& tool, const Json& arguments, const McpSession& session) {
  const Tool* known = find_tool(tool);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const Tool& each : kTools) names.emplace_back(each.name);
    return "unknown tool " + in_quotes(tool) + did_you_mean(tool, names);
  }
  if (!arguments.is_object()) return "arguments: expected an object";
  const Json schema = schema_of(*known, session);
  std::vector<std::string> names;
  for (const auto& [name, property] : schema["properties"].items()) names.push_back(name);
  for (const auto& [name, value] : arguments.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return fmt::format("{}: unknown argument {}{}", tool, in_quotes(name),
                       did_you_mean(name, names));
  }
  return {};
}

Json call_tool(const std::string& tool, Json arguments, const McpSession& session) {
  try {
    std::string file, data;
    if (const auto save = arguments.find(kSaveAs); save != arguments.end()) {
      file = file_to_save(session.options.folder, *save);
      arguments.erase(kSaveAs);
    }
    if (const auto save = arguments.find(kSaveData); save != arguments.end()) {
      data = data_to_save(session.options.folder, *save);
      arguments.erase(kSaveData);
    }
    if (tool == "explain" && !arguments.contains("explain")) arguments["explain"] = {"all"};
    if (tool == "search" && !arguments.contains("top")) arguments["top"] = kShownPlans;
    const CallAnswer answer = answer_call(find_tool(tool)->command, arguments, session.calls);
    if (!file.empty()) write_file(file, answer.document);
    if (!data.empty()) write_data_folder(answer.files, data);
    Json shown = compact(tool, Json::parse(answer.document));
    Json content = Json::array({text_content(shown.dump())});
    if (!answer.remarks.empty()) content.push_back(text_content(answer.remarks));
    if (!file.empty()) content.push_back(text_content("The whole answer: " + file));
    for (const CalibratedFile& each : answer.files) {
      if (data.empty()) break;
      content.push_back(text_content(fmt::format("{}/{}/{}.json", data, each.folder, each.name)));
    }
    return {{"content", content}, {"structuredContent", shown}, {"isError", false}};
  } catch (const InputError& error) {
    return {{"content", Json::array({text_content(error.what())})}, {"isError", true}};
  }
}

}  // namespace prequel
