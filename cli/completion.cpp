#include "cli/command_tree.hpp"

#include <array>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace prequel {
namespace {

/// Options and positionals that take a name of the library, and the kind that lists it.
constexpr std::array<std::pair<const char*, const char*>, 5> kLibraryNames{
    {{"--model", "models"},
     {"--device", "devices"},
     {"--cluster", "clusters"},
     {"--software", "software"},
     {"job", "jobs"}}};

/// The shell command that lists what `option` takes; empty where only the user can know.
std::string listing(const OptionDescription& option) {
  for (const auto& [name, kind] : kLibraryNames) {
    if (option.names.back() == name)
      return fmt::format(R"(prequel show {} 2>/dev/null | cut -d\  -f1)", kind);
  }
  return {};
}

void for_each_command(const CommandDescription& command,
                      const std::function<void(const CommandDescription&)>& visit) {
  visit(command);
  for (const CommandDescription& sub : command.commands) for_each_command(sub, visit);
}

/// In single quotes for a POSIX-like shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The paths of all sub-commands, quoted.
std::vector<std::string> sub_command_paths(const CommandDescription& program) {
  std::vector<std::string> paths;
  for_each_command(program, [&](const CommandDescription& command) {
    if (command.path != program.path) paths.push_back(quoted(command.path));
  });
  return paths;
}

/// `pattern | pattern) ` for the command and the option before the cursor; options of the whole
/// program may stand after any command.
std::string value_patterns(const CommandDescription& program, const CommandDescription& command,
                           const OptionDescription& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) {
    patterns.push_back(command.path == program.path ? "*" + quoted(" " + name)
                                                    : quoted(command.path + " " + name));
  }
  return fmt::format("    {}) ", fmt::join(patterns, " | "));
}

std::string bash_script(const CommandDescription& program) {
  std::string values, words;
  for_each_command(program, [&](const CommandDescription& command) {
    std::vector<std::string> list;
    std::string lists;
    for (const CommandDescription& sub : command.commands) list.push_back(sub.name());
    for (const OptionDescription& option : command.options) {
      list.insert(list.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      const std::string choices = !option.choices.empty()
                                      ? fmt::format("{}", fmt::join(option.choices, " "))
                                  : listing(option).empty() ? ""
                                                            : "$(" + listing(option) + ")";
      values += value_patterns(program, command, option) + "words=\"" + choices + "\" ;;\n";
    }
    for (const OptionDescription& positional : command.positionals) {
      list.insert(list.end(), positional.choices.begin(), positional.choices.end());
      if (!listing(positional).empty()) lists += " $(" + listing(positional) + ")";
    }
    words += fmt::format("        {}) words=\"{}{}\" ;;\n", quoted(command.path),
                         fmt::join(list, " "), lists);
  });
  return fmt::format(R"(# bash completion of {0}, written by `{0} completion bash`.
_{0}() {{
  local command={0} words i
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {1}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command $before" in
{2}    *)
      case $command in
{3}      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _{0} {0}
)",
                     program.path, fmt::join(sub_command_paths(program), " | "), values, words);
}

/// An entry of zsh's _describe, 'name:help'.
std::string zsh_entry(const std::string& name, const std::string& help) {
  return quoted(name + ":" + help);
}

std::string zsh_script(const CommandDescription& program) {
  std::string values, entries;
  for_each_command(program, [&](const CommandDescription& command) {
    std::vector<std::string> list;
    std::string lists;
    for (const CommandDescription& sub : command.commands) {
      list.push_back(zsh_entry(sub.name(), sub.help));
    }
    for (const OptionDescription& option : command.options) {
      for (const std::string& name : option.names) list.push_back(zsh_entry(name, option.help));
      if (option.value.empty()) continue;
      std::string action = "_files";
      if (!option.choices.empty()) {
        action = fmt::format("compadd -- {}", fmt::join(option.choices, " "));
      } else if (!listing(option).empty()) {
        action = fmt::format("compadd -- $({}); _files", listing(option));
      }
      values += value_patterns(program, command, option) + action + "; return ;;\n";
    }
    for (const OptionDescription& positional : command.positionals) {
      for (const std::string& choice : positional.choices) list.push_back(zsh_entry(choice, ""));
      if (!listing(positional).empty())
        lists += fmt::format("; compadd -- $({})", listing(positional));
    }
    entries += fmt::format("    {}) entries=({}){} ;;\n", quoted(command.path),
                           fmt::join(list, " "), lists);
  });
  return fmt::format(R"(#compdef {0}
# zsh completion of {0}, written by `{0} completion zsh`.
_{0}() {{
  local command={0} word
  local -a entries
  for word in ${{words[2,CURRENT-1]}}; do
    case "$command $word" in
      {1}) command+=" $word" ;;
    esac
  done
  case "$command ${{words[CURRENT-1]}}" in
{2}  esac
  case $command in
{3}  esac
  _describe -o argument entries
  _files
}}
compdef _{0} {0}
)",
                     program.path, fmt::join(sub_command_paths(program), " | "), values, entries);
}

std::string fish_script(const CommandDescription& program) {
  std::string lines;
  for_each_command(program, [&](const CommandDescription& command) {
    const bool whole_program = command.path == program.path;
    const std::string at =
        fmt::format("-n {}", quoted("__" + program.path + "_at " + command.path));
    const auto add = [&](const std::string& condition, const std::string& rest,
                         const std::string& help) {
      lines += fmt::format("complete -c {}{} {} -d {}\n", program.path,
                           condition.empty() ? "" : " " + condition, rest, quoted(help));
    };
    for (const CommandDescription& sub : command.commands) add(at, "-f -a " + sub.name(), sub.help);
    for (const OptionDescription& option : command.options) {
      std::string rest;
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        rest += (is_long ? "-l " : "-s ") + name.substr(is_long ? 2 : 1) + " ";
      }
      if (!option.value.empty()) rest += "-r ";
      if (!option.choices.empty()) {
        rest += "-f -a " + quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      } else if (!listing(option).empty()) {
        rest += "-a " + quoted("(" + listing(option) + ")");
      }
      add(whole_program ? "" : at, rest.substr(0, rest.find_last_not_of(' ') + 1), option.help);
    }
    for (const OptionDescription& positional : command.positionals) {
      if (!positional.choices.empty()) {
        add(at, "-a " + quoted(fmt::format("{}", fmt::join(positional.choices, " "))),
            positional.help);
      } else if (!listing(positional).empty()) {
        add(at, "-a " + quoted("(" + listing(positional) + ")"), positional.help);
      }
    }
  });
  return fmt::format(R"(# fish completion of {0}, written by `{0} completion fish`.
function __{0}_at --description 'Whether the line so far names this command'
  set -l command {0}
  for word in (commandline -opc)[2..-1]
    if contains -- "$command $word" {1}
      set command "$command $word"
    end
  end
  test "$command" = "$argv"
end
{2})",
                     program.path, fmt::join(sub_command_paths(program), " "), lines);
}

}  // namespace

std::string completion_script(const CommandDescription& program, Shell shell) {
  switch (shell) {
    case Shell::bash: return bash_script(program);
    case Shell::zsh: return zsh_script(program);
    case Shell::fish: return fish_script(program);
  }
  return {};
}

}  // namespace prequel
