#pragma once

/// The program's commands and options as plain values, and what is written from them: completion
/// scripts and the manual page. They are read off the parser, so neither can drift from it.

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace prequel {

struct OptionDescription {
  std::vector<std::string> names;    ///< "--json", "-q"; of a positional its one name, "job"
  std::string value;                 ///< what is given to it, "PATH=VALUE"; empty for a switch
  std::vector<std::string> choices;  ///< all values that it takes, where they are few
  std::string help;
};

struct CommandDescription {
  std::string path;  ///< "prequel calibrate fit"
  std::string help;
  std::string examples;  ///< lines
  std::vector<OptionDescription> options, positionals;
  std::vector<CommandDescription> commands;

  /// The last word of the path.
  [[nodiscard]] std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

/// The parser's commands, all the way down; `above` is the path of what it stands in.
CommandDescription describe(const CLI::App& app, const std::string& above = {});

enum class Shell : std::uint8_t { bash, zsh, fish };

/// The script for that shell. Names of models, devices and so on are asked of the program while
/// the user types, since a data folder may hold any.
std::string completion_script(const CommandDescription& program, Shell shell);

/// The page as man(1) reads it; `version` stands at its foot.
std::string manual_page(const CommandDescription& program, const std::string& version);

}  // namespace prequel
