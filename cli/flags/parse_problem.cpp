#include "cli/flags/parse_problem.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/flags/flags.hpp"
#include "cli/import/job/imported_job.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {
namespace {

std::string switched(const std::string& flag, bool on) {
  return on ? flag : "--no-" + flag.substr(2);
}

}  // namespace

std::string said_here(const ReadNames& names, const std::string& flag, const std::string& value) {
  Facts job;
  try {
    job.names = names();
    read_flags("", {{flag, value}}, job);
    if (job.says("batch_size")) return {};  // of a device or of all
    take_by_names(job);
  } catch (const InputError&) {
    return {};  // not priced, or no value of it
  }
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : " ") + one; };
  if (job.says("devices")) add("--gpus " + job.text("devices"));
  const PlanRequest plan = plan_of(job);
  each_axis([&](const auto& axis) {
    const auto& said = axis.of(plan);
    if (!said) return;
    const std::string here = flag_of(axis.name);
    if constexpr (std::is_same_v<std::decay_t<decltype(*said)>, bool>) {
      add(switched(here, *said));
    } else {
      add(here + " " + cell_of(*said));
    }
  });
  return text;
}

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

/// A word that the parser did not understand, with the value behind it if it is an option.
struct UnknownWord {
  std::string word, value;
};

/// Returns the value behind an option in a command line; the empty text where there is none.
std::string value_behind(const std::vector<std::string>& line, const std::string& option) {
  const auto found = std::ranges::find(line, option);
  if (found == line.end() || found + 1 == line.end() || (found + 1)->starts_with("-")) return {};
  return *(found + 1);
}

std::vector<UnknownWord> unknown_words(const CLI::App& app, const std::vector<std::string>& line) {
  std::vector<UnknownWord> words;
  bool after_option = false;
  for (const std::string& word : app.remaining(true)) {
    const bool option = word.starts_with("-");
    const std::size_t equals = word.find('=');
    const bool with_value = option && equals != std::string::npos;
    if (with_value) {
      words.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else if (option) {
      words.push_back({word, value_behind(line, word)});
    } else if (!after_option) {
      words.push_back({word, ""});
    }
    after_option = option && !with_value;
  }
  return words;
}

/// Words in which people ask, and the flag that answers.
struct Meant {
  std::string_view asked, flag;
};
constexpr Meant kMeant[] = {{"--gpu", "--cluster"},      {"--accelerator", "--cluster"},
                            {"--hardware", "--cluster"}, {"--framework", "--software"},
                            {"--backend", "--software"}, {"--days", "--within"},
                            {"--deadline", "--within"},  {"--cost", "--price"},
                            {"--budget", "--price"},     {"--output", "--report"},
                            {"-o", "--report"},          {"--dataset", "--tokens"},
                            {"--fsdp", "--zero"},        {"--num-gpus", "--gpus"},
                            {"--hours", "--tokens"}};

/// Returns ` (did you mean …?)` for an unknown option; the empty text where nothing is like it.
std::string hint_of(const UnknownWord& unknown, const std::vector<std::string>& known,
                    const ReadNames& names) {
  if (unknown.word == "true" || unknown.word == "false") return " (switches take no value)";
  const auto meant = std::ranges::find(kMeant, unknown.word, &Meant::asked);
  if (meant != std::end(kMeant) && std::ranges::find(known, meant->flag) != known.end()) {
    return fmt::format(" (did you mean {}?)", in_quotes(std::string(meant->flag)));
  }
  const bool plans = std::ranges::find(known, "--mbs") != known.end();
  if (names && plans && unknown.word.starts_with("--")) {
    const std::string here = said_here(names, unknown.word, unknown.value);
    if (!here.empty()) return fmt::format(" (did you mean {}?)", in_quotes(here));
  }
  return did_you_mean(unknown.word, known);
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

std::string parse_problem(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& line, const ReadNames& names) {
  const CLI::App& command = chosen_command(app);
  const std::vector<std::string> commands = command_names(command);
  const std::string choice = fmt::format("; the commands are {}", fmt::join(commands, ", "));
  std::vector<std::string> known = commands;
  for (const CLI::App* level : {&app, &command}) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
    }
    if (&command == &app) break;  // its options once
  }
  std::string text;
  for (const UnknownWord& unknown : unknown_words(app, line)) {
    const bool is_command = !commands.empty() && !unknown.word.starts_with("-");
    text += fmt::format("{}{}: unknown{}{}", text.empty() ? "" : "\n", printable(unknown.word),
                        hint_of(unknown, known, names), is_command ? choice : "");
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
