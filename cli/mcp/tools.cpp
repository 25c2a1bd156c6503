#include "cli/mcp/tools.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "cli/calibrate/runs_answer.hpp"
#include "cli/call/call.hpp"
#include "cli/json/json.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSaveAs = "save_as";
constexpr const char* kSaveData = "save_data_as";
constexpr int kShownPlans = 5;
constexpr std::size_t kShownRuns = 10;

struct Tool {
  std::string_view name;
  const char* command;
  const char* title;
  const char* description;
  const char* common;  ///< arguments that are described one by one; empty: all
};

constexpr const char* kPlan =
    "job model cluster software nodes gpus tp pp cp ep mbs gbs seq_len zero recompute precision "
    "tokens price ";

constexpr std::array kTools{
    Tool{"predict", "predict", "Predict one training plan",
         "Seconds per iteration, memory, MFU and where the time goes for one way to train a model "
         "on a cluster: a job, or model, cluster, gbs and plan. memory.verdict: fits, tight or "
         "oom.",
         kPlan},
    Tool{"search", "search", "Search the best layout",
         "The fastest plans that surely fit, and which to take; axes that are left out are "
         "searched. Needs model, cluster and gbs, or a job.",
         "job model cluster software nodes gpus tp pp cp ep mbs gbs seq_len zero recompute "
         "precision tokens price max_nodes require objective within risk top explain "},
    Tool{"compare", "compare", "Compare two plans, clusters or stacks",
         "Tells two ways to train apart, with the odds that the first is faster. A side "
         "is a job, or an object of what is said otherwise ({\"tp\": 4}).",
         "a b model cluster software nodes tp pp mbs gbs seq_len "},
    Tool{"explain", "predict", "Explain what a step costs",
         "Why kernels of a predicted step take their time: shape, FLOPs, bytes, the limit that "
         "binds, where constants come from. Arguments as for predict.",
         "job model cluster software nodes tp pp mbs gbs seq_len explain "},
    Tool{"validate", "validate", "Compare with measured runs",
         "Predicts each row of tables of measured runs (CSV) and says how far off that is.",
         "runs by worst "},
    Tool{"calibrate_runs", "calibrate runs", "Fit constants to measured runs",
         "The most probable constants from tables of measured runs, and what each tells. Files "
         "are written only where a folder was opened.",
         "files fit folds few "},
    Tool{"import", "import", "Read other tools' files",
         "Hugging Face config.json, Megatron launch script, DeepSpeed, YAML or TOML config, or "
         "training log to a job or a table of runs.",
         "files model cluster software nodes args env "},
    Tool{"show", "show", "Show what is known",
         "Names of models, devices, clusters, software or jobs; with a name the whole file, with "
         "the origin of its numbers.",
         "kind name "},
};

const Tool* find_tool(std::string_view name) {
  const auto found = std::ranges::find(kTools, name, &Tool::name);
  return found == kTools.end() ? nullptr : &*found;
}

bool writes_data(const Tool& tool) {
  return std::string_view(tool.name) == "calibrate_runs";
}

constexpr const char* kMore = "more";
constexpr const char* kDetail = "detail";

/// Tests whether a list of words between blanks has one.
bool has_word(std::string_view list, const std::string& word) {
  const std::string with_blanks = " " + std::string(list), blank = " " + word + " ";
  return with_blanks.find(blank) != std::string::npos;
}

/// The arguments that are common one by one, with the values of enumerations; all others by name.
Json schema_of(const Tool& tool, const McpSession& session) {
  Json schema = arguments_schema(tool.command);
  Json properties = Json::object();
  std::string others;
  for (auto& [name, property] : schema["properties"].items()) {
    if (has_word(tool.common, name)) {
      properties[name] = property;
    } else {
      others += (others.empty() ? "" : " ") + name;
    }
  }
  if (!others.empty()) {
    properties[kMore] = {{"type", "object"}, {"description", "any other argument: " + others}};
  }
  properties[kDetail] = {{"type", "boolean"},
                         {"description", "the whole answer, not its short form"}};
  schema["properties"] = std::move(properties);
  if (schema["required"].empty()) schema.erase("required");
  schema.erase("additionalProperties");
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

/// All names that a call may say.
std::vector<std::string> names_of(const Tool& tool, const McpSession& session) {
  std::vector<std::string> names{kMore, kDetail};
  const Json schema = arguments_schema(tool.command);
  for (const auto& [name, property] : schema["properties"].items()) names.push_back(name);
  if (!session.options.folder.empty()) names.emplace_back(kSaveAs);
  if (!session.options.folder.empty() && writes_data(tool)) names.emplace_back(kSaveData);
  return names;
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

/// The lines that a person reads of a short answer.
std::string in_words(const std::string& tool, const Json& shown) {
  if (tool == "search" && shown.contains("recommendation")) {
    return shown["recommendation"].value("text", "");
  }
  if (tool == "predict" || tool == "explain") {
    const Json& memory = shown.at("memory");
    const std::string text =
        fmt::format("{} s per iteration, {} of {} GiB: {}", shown.at("sec_per_iter").dump(),
                    memory.at("peak_gib").dump(), memory.at("capacity_gib").dump(),
                    memory.at("verdict").get<std::string>());
    if (!memory.contains("nearest")) return text;
    return text +
           "; the nearest plan that fits: " + memory["nearest"].at("flags").get<std::string>();
  }
  return "see structuredContent";
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
  Json tools = Json::array();
  for (const Tool& tool : kTools) {
    Json listed{{"name", std::string(tool.name)},
                {"title", tool.title},
                {"description", tool.description},
                {"inputSchema", schema_of(tool, session)}};
    listed["annotations"] = {{"readOnlyHint", session.options.folder.empty()},
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
  const std::vector<std::string> names = names_of(*known, session);
  for (const auto& [name, value] : arguments.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string near = did_you_mean(name, names);
    return fmt::format("{}: unknown argument {}{}", tool, in_quotes(name),
                       near.empty() ? argument_hint(known->command, name) : near);
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
    bool whole = false;
    if (const auto detail = arguments.find(kDetail); detail != arguments.end()) {
      if (!detail->is_boolean()) throw InputError("detail: expected true or false");
      whole = *detail;
      arguments.erase(kDetail);
    }
    if (const auto more = arguments.find(kMore); more != arguments.end()) {
      if (!more->is_object()) throw InputError("more: expected an object of arguments");
      const Json others = *more;
      arguments.erase(kMore);
      for (const auto& [name, value] : others.items()) arguments[name] = value;
      if (const std::string why = misuse(tool, arguments, session); !why.empty()) {
        throw InputError(why);
      }
    }
    if (tool == "explain" && !arguments.contains("explain")) arguments["explain"] = {"all"};
    if (tool == "search" && !arguments.contains("top")) arguments["top"] = kShownPlans;
    const CallAnswer answer = answer_call(find_tool(tool)->command, arguments, session.calls);
    if (!file.empty()) write_file(file, answer.document);
    if (!data.empty()) write_data_folder(answer.files, data);
    Json shown = Json::parse(answer.document);
    if (tool == "validate") keep_worst_runs(shown["runs"]);
    if (!whole) shown = short_answer(tool, shown);
    Json content =
        Json::array({text_content(whole ? "see structuredContent" : in_words(tool, shown))});
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
