#include "cli/flags/parse_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "hw/base/csv.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// The innermost command that the command line names.
const CLI::App& chosen_command(const CLI::App& app) {
  const CLI::App* command = &app;
  for (auto chosen = command->get_subcommands(); !chosen.empty();
       chosen = command->get_subcommands()) {
    command = chosen.front();
  }
  return *command;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

/// Words that the parser did not understand, without those that are values of unknown options.
std::vector<std::string> unknown_words(const CLI::App& app) {
  std::vector<std::string> words;
  bool after_option = false;
  for (const std::string& word : app.remaining(true)) {
    const bool option = word.starts_with("-");
    if (option || !after_option) words.push_back(word);
    after_option = option && word.find('=') == std::string::npos;
  }
  return words;
}

/// "Could not convert: --worst = a", as all other refusals are worded. Options that convert are
/// numbers.
std::string not_a_number(const std::string& what) {
  const std::size_t name = what.find(": ");
  const std::size_t equals = what.find(" = ");
  if (name == std::string::npos || equals == std::string::npos || equals < name) return what;
  const std::string value = what.substr(equals + 3);
  return fmt::format("{}: expected a {}number, got {}", what.substr(name + 2, equals - name - 2),
                     parse_number(value) ? "whole " : "", in_quotes(value));
}

}  // namespace

std::string parse_problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  const std::vector<std::string> commands = command_names(command);
  const std::string choice = fmt::format("; the commands are {}", fmt::join(commands, ", "));
  std::vector<std::string> known = commands;
  for (const CLI::App* level : {&app, &command}) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
    }
  }
  std::string text;
  for (const std::string& word : unknown_words(app)) {
    const bool is_command = !commands.empty() && !word.starts_with("-");
    text +=
        fmt::format("{}{}: unknown{}{}", text.empty() ? "" : "\n", printable(word),
                    did_you_mean(word.substr(0, word.find('=')), known), is_command ? choice : "");
  }
  if (!text.empty()) return text;
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (what.find("flag override") != std::string::npos) {
      const std::string flag = what.substr(0, what.find(' '));  // without its dashes
      return (flag.size() > 1 ? "--" : "-") + flag + ": stands alone; it takes no value";
    }
    const bool missing = what.find("missing") != std::string::npos;
    return what.substr(0, what.find(':')) +
           (missing ? ": a value is missing" : ": given more than once");
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return not_a_number(what);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && commands.empty()) {
    return what.substr(0, what.find(' ')) + ": missing";
  }
  if (!commands.empty()) return "no command" + choice;
  return what;
}

}  // namespace prequel
