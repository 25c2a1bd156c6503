#pragma once

/// The program's commands and options as plain values, and what is made of them: completions and
/// the manual page. They are read off the parser, so neither can drift from it.

#include <cstdint>
#include <functional>
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

/// The script for that shell, which asks the program what may follow while the user types.
std::string completion_script(Shell shell);

/// Names that the library has of a kind, such as "models": a data folder may hold any.
using NamesOfKind = std::function<std::vector<std::string>(const std::string& kind)>;

/// Returns the words that may stand where `typed` is begun, behind those `before`: a line each,
/// with a tab and what the word means.
std::string completions(const CommandDescription& program, const std::vector<std::string>& before,
                        const std::string& typed, const NamesOfKind& names);

/// The page as man(1) reads it; `version` stands at its foot.
std::string manual_page(const CommandDescription& program, const std::string& version);

}  // namespace prequel
