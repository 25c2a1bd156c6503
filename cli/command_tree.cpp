#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>

namespace prequel {
namespace {

/// The values of a type that lists them, such as "auto|always|never".
std::vector<std::string> choices(const std::string& type) {
  if (type.find('|') == std::string::npos || type.find('=') != std::string::npos) return {};
  return CLI::detail::split(type, '|');
}

std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  // Checks append to the type what they allow, as in "INT:POSITIVE".
  const std::string type = option.get_type_name();
  const std::string name = type.starts_with("NODE:") ? type : type.substr(0, type.find(':'));
  return name.empty() ? "VALUE" : name;
}

OptionDescription describe(const CLI::Option& option) {
  OptionDescription description;
  if (option.get_positional()) {
    description.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) description.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) description.names.push_back("--" + name);
  }
  description.value = value_name(option);
  description.choices = choices(description.value);
  description.help = option.get_description();
  return description;
}

}  // namespace

CommandDescription describe(const CLI::App& app, const std::string& above) {
  CommandDescription command;
  command.path = above.empty() ? app.get_name() : above + " " + app.get_name();
  command.help = app.get_description();
  command.examples = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? command.positionals : command.options).push_back(describe(*option));
  }
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    command.commands.push_back(describe(*sub, command.path));
  }
  return command;
}

}  // namespace prequel
