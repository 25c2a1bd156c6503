#include "cli/call/call.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/compare/answer.hpp"
#include "cli/compare/format.hpp"
#include "cli/compare/parser.hpp"
#include "cli/context.hpp"
#include "cli/drawing.hpp"
#include "cli/import_answer.hpp"
#include "cli/parse_problem.hpp"
#include "cli/parsers.hpp"
#include "cli/predict/answer.hpp"
#include "cli/predict/parser.hpp"
#include "cli/search/answer.hpp"
#include "cli/search/clusters.hpp"
#include "cli/search/format.hpp"
#include "cli/search/parser.hpp"
#include "cli/show_answer.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/interrupted.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/job/file_cache.hpp"
#ifndef __EMSCRIPTEN__  // the page fits nothing, and draws its reports itself
#include "cli/calibrate/parser.hpp"
#include "cli/calibrate/runs_answer.hpp"
#include "cli/calibrate/runs_format.hpp"
#include "cli/report.hpp"
#include "cli/validate/answer.hpp"
#include "cli/validate/validation_format.hpp"
#endif

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

/// Flags that say where and how an answer is shown, or write files.
constexpr std::array<std::string_view, 16> kNotForCalls{
    "memory-snapshot", "help",    "json", "csv",    "report",     "trace", "detail",
    "ranks",           "emit",    "name", "output", "output-dir", "kind",  "quiet",
    "color",           "data-dir"};
constexpr std::array<std::string_view, 5> kDocuments{"job", "model", "device", "cluster",
                                                     "software"};

constexpr std::array<std::string_view, 2> kSides{"a", "b"};  ///< of `compare`

/// Bytes that are not UTF-8 must not cost the answer.
std::string text_of_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Names>
bool is_one_of(const std::string& name, const Names& names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_for_calls(const CLI::Option& option) {
  return option.get_positional() || !is_one_of(option.get_single_name(), kNotForCalls);
}

}  // namespace

/// The parser of one command, and what it fills.
struct CallParser {
  std::string name;
  CLI::App app{"", "prequel"};
  CommonOptions common;
  PredictOptions predict;
  SearchOptions search;
  CompareOptions compare;
  ValidateOptions validate;
#ifndef __EMSCRIPTEN__
  CalibrateRunsOptions runs;
#endif
  ImportOptions import;
  ShowOptions show;

  explicit CallParser(const std::string& command) : name(command) {
    const auto nothing = [] {};
    app.fallthrough();
    app.add_option("--data-dir", common.data_directories)->allow_extra_args(false);
    if (command == "predict") {
      add_predict(app, predict, nothing);
    } else if (command == "search") {
      add_search(app, search, nothing);
    } else if (command == "compare") {
      add_compare(app, compare, nothing);
    } else if (command == "validate") {
      add_validate(app, validate, nothing);
#ifndef __EMSCRIPTEN__
    } else if (command == "calibrate runs") {
      add_calibrate_runs(*app.add_subcommand("calibrate")->fallthrough(), runs, nothing);
#endif
    } else if (command == "import") {
      add_import(app, import, nothing);
    } else if (command == "show") {
      add_show(app, show, nothing);
    } else {
      throw InputError(in_quotes(command) + ": unknown command" +
                       did_you_mean(command, callable_commands()));
    }
  }

  /// As it was before any call.
  void reset() {
    app.clear();
    common = {};
    predict = {};
    search = {};
    compare = {};
    validate = {};
#ifndef __EMSCRIPTEN__
    runs = {};
#endif
    import = {};
    show = {};
  }

  [[nodiscard]] CLI::App& command() {
    CLI::App* command = &app;
    while (!command->get_subcommands(nullptr).empty()) {
      command = command->get_subcommands(nullptr).front();
    }
    return *command;
  }
};

/// Parsers take longer to make than to use.
class ParserPool {
 public:
  std::unique_ptr<CallParser> take(const std::string& command) {
    {
      const std::lock_guard lock(mutex_);
      const auto idle = std::ranges::find(idle_, command, &CallParser::name);
      if (idle != idle_.end()) {
        std::unique_ptr<CallParser> parser = std::move(*idle);
        idle_.erase(idle);
        return parser;
      }
    }
    return std::make_unique<CallParser>(command);
  }

  /// Keeps one for the next call, if it still does what it should.
  void keep(std::unique_ptr<CallParser> parser) {
    parser->reset();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(parser));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallParser>> idle_;
};

std::shared_ptr<ParserPool> make_parser_pool() {
  return std::make_shared<ParserPool>();
}

namespace {

/// The name that callers give an option: "seq_len" of --seq-len.
std::string argument_name(const CLI::Option& option) {
  std::string name = option.get_positional() ? option.get_name(true) : option.get_single_name();
  std::ranges::replace(name, '-', '_');
  return name;
}

using NamedOption = std::pair<std::string, const CLI::Option*>;

/// What a call may say, by the callers' names, in the parser's order.
std::vector<NamedOption> arguments_of(CLI::App& command) {
  std::vector<NamedOption> known;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_for_calls(*option)) continue;
    known.emplace_back(argument_name(*option), option);
  }
  return known;
}

bool is_switch(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}
/// Whether each value is given with the flag anew, not as one list.
bool is_repeatable(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

/// A pipe, a device or a socket: reading one may take for ever, or what is meant for others.
bool is_special_file(const std::string& path) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

/// The words of a call, and the documents that stand behind some of them.
class Words {
 public:
  explicit Words(std::string command) : command_(std::move(command)) {}

  void add(const std::string& name, const CLI::Option& option, const Json& value) {
    if (value.is_null()) return;
    if (is_switch(option)) return add_switch(name, option, value);
    if (value.is_object() && is_one_of(name, kDocuments)) {
      const std::string file = name + ".json";
      documents[file] = text_of_json(value);
      return add_word(option, file);
    }
    if (value.is_object() && is_one_of(name, kSides)) return add_side(name, option, value);
    if (value.is_object()) {
      if (!is_repeatable(option)) refuse(name, "expected a value, got an object");
      // --set PATH=VALUE, --slow-node NODE:SPEED
      const char between = option.get_type_name().find('=') != std::string::npos ? '=' : ':';
      for (const auto& [key, member] : value.items()) {
        add_word(option, key + between + text_of(name, member));
      }
      return;
    }
    if (value.is_array() && is_repeatable(option)) {
      for (const Json& each : value) add_word(option, text_of(name, each));
      return;
    }
    if (value.is_array()) {
      std::string list;
      for (const Json& each : value) list += (list.empty() ? "" : ",") + text_of(name, each);
      return add_word(option, list);
    }
    if (value.is_boolean() && option.get_type_name() == "off,on") {
      return add_word(option, value.get<bool>() ? "on" : "off");
    }
    add_word(option, text_of(name, value));
  }

  /// All of them, the positionals last.
  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> words = flags_;
    words.emplace_back("--");
    words.insert(words.end(), positionals_.begin(), positionals_.end());
    return words;
  }

  std::map<std::string, std::string> documents;  ///< by the name that stands for each

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    throw InputError(fmt::format("{}: {}: {}", command_, printable(name), why));
  }

  void add_switch(const std::string& name, const CLI::Option& option, const Json& value) {
    if (!value.is_boolean())
      refuse(name, "expected true or false, got " + printable(text_of_json(value)));
    if (value.get<bool>()) {
      flags_.push_back("--" + option.get_single_name());
    } else if (!option.get_fnames().empty()) {
      flags_.push_back("--" + option.get_fnames().front());
    }
  }

  /// A side of `compare`: a whole job, or `job` and what is said otherwise, by field.
  void add_side(const std::string& side, const CLI::Option& option, const Json& value) {
    if (value.contains("plan") || value.contains("schema")) {
      const std::string file = side + ".json";
      documents[file] = text_of_json(value);
      return add_word(option, file);
    }
    std::string word;
    if (const auto job = value.find("job"); job != value.end())
      word = side_value(side, "job", *job);
    for (const auto& [field, member] : value.items()) {
      if (field == "job") continue;
      word += (word.empty() ? "" : ",") + field + "=" + side_value(side, field, member);
    }
    add_word(option, word);
  }

  std::string side_value(const std::string& side, const std::string& field, const Json& value) {
    if (value.is_object() && is_one_of(field, kDocuments)) {
      std::string file = side + "-" + field + ".json";
      documents[file] = text_of_json(value);
      return file;
    }
    if (!value.is_array()) return text_of(side, value);
    std::string list;
    for (const Json& each : value) list += (list.empty() ? "" : ",") + text_of(side, each);
    return list;
  }

  /// Streams of the program that is called are not for the answer.
  void refuse_streams(const std::string& name, const std::string& word) const {
    for (std::size_t begin = 0; begin <= word.size();) {
      const std::size_t end = is_one_of(name, kSides)
                                  ? std::min(word.find_first_of(",=", begin), word.size())
                                  : word.size();
      const std::string file = word.substr(begin, end - begin);
      if (is_special_file(file) || file == "-") {
        refuse(name, in_quotes(file) + " is no file; the path of one would do");
      }
      begin = end + 1;
    }
  }

  void add_word(const CLI::Option& option, const std::string& word) {
    const std::string name = argument_name(option);
    if (word.empty()) refuse(name, "expected text, got none");
    refuse_streams(name, word);
    if (option.get_positional()) {
      positionals_.push_back(word);
    } else {
      flags_.push_back("--" + option.get_single_name() + "=" + word);
    }
  }

  [[nodiscard]] std::string text_of(const std::string& name, const Json& value) const {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_structured()) refuse(name, "expected text, a number or a list of them");
    return text_of_json(value);
  }

  std::string command_;
  std::vector<std::string> flags_, positionals_;
};

Words words_of(const std::string& command, CallParser& parser, const Json& arguments) {
  if (!arguments.is_object()) throw InputError(command + ": expected an object of arguments");
  const auto known = arguments_of(parser.command());
  std::multimap<std::string, const Json*> said;
  for (const auto& [key, value] : arguments.items()) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    if (std::ranges::find(known, name, &NamedOption::first) == known.end()) {
      std::vector<std::string> names;
      for (const auto& [each, option] : known) names.push_back(each);
      throw InputError(fmt::format("{}: unknown argument {}{}", command, in_quotes(key),
                                   did_you_mean(name, names)));
    }
    said.emplace(name, &value);
  }
  Words words(command);
  for (const auto& [name, option] : known) {  // in the parser's order, which positionals need
    const auto [first, last] = said.equal_range(name);
    for (auto one = first; one != last; ++one) words.add(name, *option, *one->second);
  }
  return words;
}

void parse(CallParser& parser, const std::string& command, const Words& words,
           const CallSession& session) {
  std::vector<std::string> line;
  for (const std::string& folder : session.data_directories) line.push_back("--data-dir=" + folder);
  std::istringstream names(command);
  for (std::string name; names >> name;) line.push_back(name);
  std::ranges::copy(words.all(), std::back_inserter(line));
  std::ranges::reverse(line);  // as CLI11 takes a vector
  try {
    parser.app.parse(line);
  } catch (const CLI::ParseError& error) {
    throw InputError(parse_problem(parser.app, error));
  }
  parser.common.call = call_text(parser.app);
}

}  // namespace

std::vector<std::string> callable_commands() {
  return {"predict", "search", "compare", "validate", "calibrate runs", "import", "show"};
}

CallAnswer answer_call(const std::string& command, const Json& arguments,
                       const CallSession& session) {
  std::unique_ptr<CallParser> taken =
      session.parsers ? session.parsers->take(command) : std::make_unique<CallParser>(command);
  CallParser& parser = *taken;
  Words words = words_of(command, parser, arguments);
  words.documents.insert(session.documents.begin(), session.documents.end());
  parse(parser, command, words, session);
  const Library library(session.data_directories, {words.documents, session.files});
  CallAnswer answer;
  const Tell tell = [&answer](const std::string& lines) { answer.remarks += lines; };
  const auto context = [&] { return Context{parser.common.call, library.inputs()}; };
  if (command == "predict") {
    PredictAnswer predicted = answer_predict(library, parser.predict, tell);
    predicted.details.context = context();
    answer.document = prediction_json(predicted);
    if (session.drawn_slices > 0) {
      answer.drawing = drawing_json(predicted, session.drawn_slices).dump();
    }
    answer.is_no = predicted.is_no();
  } else if (command == "search") {
    parser.search.format = OutputFormat::json;
    const SearchWatch watch{session.progress, session.stop};
    if (asks_clusters(parser.search)) {
      std::vector<SearchAnswer> found = answer_clusters(library, parser.search, tell, watch);
      found.front().context = context();
      answer.document = clusters_json(found);
      answer.is_no = is_no(found);
    } else {
      SearchAnswer found = answer_search(library, parser.search, tell, watch);
      found.context = context();
      answer.document = search_json(found);
      answer.is_no = found.result.plans.empty();
    }
  } else if (command == "compare") {
    const CompareAnswer compared = answer_compare(library, parser.compare, tell);
    answer.document = compare_json(compared, context());
    answer.is_no = compared.is_no();
#ifndef __EMSCRIPTEN__
  } else if (command == "validate") {
    const ValidateAnswer validated =
        answer_validate(library, parser.validate, [&](std::size_t done, std::size_t of) {
          heed(session.stop);
          if (session.progress) session.progress(done, of);
        });
    answer.document =
        validation_json(validated.runs, validated.groups, validated.causes, context());
  } else if (command == "calibrate runs") {
    RunsAnswer fitted = answer_calibrate_runs(library, parser.runs, session.stop);
    answer.document = run_fit_json(fitted, context());
    answer.files = std::move(fitted.files);
#endif
  } else if (command == "import") {
    const ImportAnswer imported = answer_import(library, parser.import);
    answer.document = import_json(imported);
    answer.remarks = report_text(imported.report);
  } else {
    answer.document = show_json(library, parser.show);
  }
  if (session.parsers) session.parsers->keep(std::move(taken));
  return answer;
}

#ifndef __EMSCRIPTEN__
std::string report_call(const std::string& command, const Json& arguments,
                        const std::string& document, const CallSession& session) {
  if (command == "search") return search_report(document);
  CallParser parser(command);
  const Words words = words_of(command, parser, arguments);
  parse(parser, command, words, session);
  const Library library(session.data_directories, {words.documents, session.files});
  if (command == "predict") {
    const auto nobody = [](const std::string&) {};
    const PredictAnswer answer = answer_predict(library, parser.predict, nobody);
    return prediction_report(answer);
  }
  if (command == "validate") {
    const ValidateAnswer answer =
        answer_validate(library, parser.validate, [&](auto, auto) { heed(session.stop); });
    return validation_report(answer.runs, answer.groups);
  }
  throw InputError(command + ": there is no report of it");
}
#endif

Json arguments_schema(const std::string& command) {
  CallParser parser(command);
  Json properties = Json::object();
  Json required = Json::array();
  for (const CLI::Option* option : parser.command().get_options()) {
    if (!is_for_calls(*option)) continue;
    const std::string name = argument_name(*option);
    Json schema{{"description", option->get_description()}};
    const std::string type = option->get_type_name();
    if (is_switch(*option)) {
      schema["type"] = "boolean";
    } else if (is_one_of(name, kDocuments) || is_one_of(name, kSides)) {
      schema["type"] = {"string", "object"};
    } else if (is_repeatable(*option)) {
      schema["type"] = {"string", "array", "object"};
    } else if (command == "search") {
      schema["type"] = {"string", "number", "boolean", "array"};
    } else {
      schema["type"] = {"string", "number", "boolean"};
    }
    if (type.find('|') != std::string::npos && type.find('=') == std::string::npos) {
      schema["description"] = option->get_description() + ": " + type;
    }
    if (option->get_required()) required.push_back(name);
    properties[name] = std::move(schema);
  }
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

}  // namespace prequel
