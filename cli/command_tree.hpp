#pragma once

/// The program's commands and options as plain values: what completion scripts and the manual are
/// written from. They are read off the parser, so neither can drift from it.

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

}  // namespace prequel
