#include "cli/call/call.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/call/call_commands.hpp"
#include "cli/flags/call_text.hpp"
#include "cli/flags/parse_problem.hpp"
#include "cli/import/job/name_files.hpp"
#include "cli/json/json.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/job/file_cache.hpp"

namespace prequel {
namespace {

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

const CallCommand& command_named(const std::string& name) {
  for (const auto& commands : {shared_commands(), program_commands()}) {
    const auto found = std::ranges::find(commands, name, &CallCommand::name);
    if (found != commands.end()) return *found;
  }
  throw InputError(in_quotes(name) + ": unknown command" + did_you_mean(name, callable_commands()));
}

}  // namespace

/// The parser of one command, and what it fills.
struct CallParser {
  std::string name;
  const CallCommand& its;
  CLI::App app{"", "prequel"};
  CallOptions options;

  explicit CallParser(const std::string& command) : name(command), its(command_named(command)) {
    app.fallthrough();
    // Said twice, the last counts, as wrappers of other programs have it.
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_option("--data-dir", options.common.data_directories)->allow_extra_args(false);
    its.add(app, options);
  }

  /// As it was before any call.
  void reset() {
    app.clear();
    options = {};
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

/// Returns the arguments of a call, by the callers' names, in the parser's order.
std::vector<NamedOption> arguments_of(CLI::App& command) {
  std::vector<NamedOption> known;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_for_calls(*option)) continue;
    known.emplace_back(argument_name(*option), option);
  }
  return known;
}

/// The words of a name: "tensor", "parallel".
std::set<std::string> words_of_name(std::string name) {
  std::ranges::replace_if(
      name, [](char each) { return each == '-' || each == '_'; }, ' ');
  std::istringstream text(name);
  return {std::istream_iterator<std::string>(text), {}};
}

/// Tests whether a longer spelling of a flag has all words of a name, or its value is named so.
bool is_meant(const CLI::Option& option, const std::set<std::string>& said) {
  std::vector<std::string> spellings = option.get_lnames();
  spellings.push_back(lower_case(option.get_type_name()) + 's');
  return std::ranges::any_of(spellings, [&](const std::string& spelling) {
    const std::set<std::string> words = words_of_name(spelling);
    return std::includes(words.begin(), words.end(), said.begin(), said.end());
  });
}

/// ` (did you mean "x"?)` for a name that no argument has, or the empty text.
std::string hint_of(CLI::App& command, const std::string& said) {
  std::vector<std::string> names, meant;
  for (const auto& [name, option] : arguments_of(command)) {
    names.push_back(name);
    if (is_meant(*option, words_of_name(said))) meant.push_back(in_quotes(name));
  }
  const std::string near = did_you_mean(said, names);
  if (!near.empty()) return near;
  if (meant.empty()) {  // as another program calls it
    const auto foreign = [] { return names_of_library(nullptr); };
    const std::string here = said_here(foreign, "--" + said, "");
    return here.empty() ? "" : fmt::format(" (did you mean {}?)", in_quotes(here.substr(2)));
  }
  return fmt::format(" (did you mean {}?)", fmt::join(meant, ", "));
}

bool is_switch(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}
/// Tests whether each value is given with the flag anew, not as one list.
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
    if (!positionals_.empty()) words.emplace_back("--");
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
    if (word.empty() && name != "layout") refuse(name, "expected text, got none");
    refuse_streams(name, word);
    if (option.get_positional()) {
      positionals_.push_back(word);
    } else if (word.empty()) {  // layers are dealt evenly
      flags_.insert(flags_.end(), {"--" + option.get_single_name(), word});
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
      throw InputError(fmt::format("{}: unknown argument {}{}", command, in_quotes(key),
                                   hint_of(parser.command(), name)));
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
  parser.options.common.call = call_text(parser.app);
}

}  // namespace

std::vector<std::string> callable_commands() {
  std::vector<std::string> names;
  for (const auto& commands : {shared_commands(), program_commands()}) {
    for (const CallCommand& command : commands) names.emplace_back(command.name);
  }
  return names;
}

void read_call(const std::string& command, const Json& arguments, const CallSession& session,
               const std::function<void(const ReadCall&)>& take) {
  std::unique_ptr<CallParser> parser =
      session.parsers ? session.parsers->take(command) : std::make_unique<CallParser>(command);
  Words words = words_of(command, *parser, arguments);
  words.documents.insert(session.documents.begin(), session.documents.end());
  parse(*parser, command, words, session);
  const Library library(session.data_directories, {words.documents, session.files});
  take({library, parser->options, session});
  if (session.parsers) session.parsers->keep(std::move(parser));
}

CallAnswer answer_call(const std::string& command, const Json& arguments,
                       const CallSession& session) {
  CallAnswer answer;
  read_call(command, arguments, session,
            [&](const ReadCall& call) { answer = command_named(command).answer(call); });
  return answer;
}

std::string report_call(const std::string& command, const Json& arguments,
                        const std::string& document, const CallSession& session) {
  const auto report = std::ranges::find(program_reports(), command, &CallReport::command);
  if (report == program_reports().end()) throw InputError(command + ": there is no report of it");
  CallParser parser(command);
  const Words words = words_of(command, parser, arguments);
  parse(parser, command, words, session);
  const Library library(session.data_directories, {words.documents, session.files});
  return report->report({library, parser.options, session}, document);
}

std::string argument_hint(const std::string& command, const std::string& name) {
  CallParser parser(command);
  return hint_of(parser.command(), name);
}

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
    } else if (type == "N") {
      schema["type"] = "integer";
    } else {
      schema["type"] = {"string", "number", "boolean"};
    }
    const bool words = type.find('|') != std::string::npos && type.find('=') == std::string::npos;
    const bool digits = words && type.find_first_not_of("0123456789|") == std::string::npos;
    if (words && !digits && command != "search") {
      schema["type"] = "string";
      schema["enum"] = CLI::detail::split(type, '|');
    } else if (words) {
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
