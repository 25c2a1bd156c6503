#include "cli/flags/call_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>

namespace prequel {
namespace {

/// Options that do not change what is answered, only where it goes.
constexpr std::array<std::string_view, 11> kOfOutput{
    "--json",   "--csv",   "--color",  "--quiet",  "--trace",     "--memory-snapshot",
    "--report", "--ranks", "--detail", "--output", "--output-dir"};

std::string option_text(const CLI::Option& option) {
  const std::string name = option.get_single_name();
  if (option.get_positional()) {
    std::string text;
    for (const std::string& word : option.results()) text += " " + shell_quoted(word);
    return text;
  }
  const std::string flag = " --" + name;
  if (std::ranges::find(kOfOutput, "--" + name) != kOfOutput.end()) return {};
  if (option.get_items_expected_max() == 0) {  // a switch, which may have a name that turns it off
    const bool off = option.results().back() == "false";
    return off && !option.get_fnames().empty() ? " --" + option.get_fnames().front() : flag;
  }
  std::string text;
  for (const std::string& word : option.results()) text += flag + " " + shell_quoted(word);
  return text;
}

std::string options_text(const CLI::App& command) {
  std::string positionals, options;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* one) { return one->count() > 0; })) {
    (option->get_positional() ? positionals : options) += option_text(*option);
  }
  return positionals + options;
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain = "@%+=:,./-_";
  const bool plain = !word.empty() && std::ranges::all_of(word, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string call_text(const CLI::App& program) {
  std::string text = program.get_name();
  const CLI::App* command = &program;
  std::string global = options_text(program);
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    text += " " + command->get_name();
  }
  return text + options_text(*command) + global;
}

}  // namespace prequel
