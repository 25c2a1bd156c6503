#pragma once

/// Reads bash launch scripts without running them: variables, arrays, arithmetic, continued lines,
/// functions, here-documents and `#SBATCH` lines. Where the tests of branches compare known values,
/// the branch that runs is read; else one alternative is read, and the report lists all. `while`
/// runs as often as its test says where that is known; other loops are read once, for their last
/// value.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/shell/script_inputs.hpp"

namespace prequel {

/// The state that a script starts from: arguments and environment, or the state that another script
/// left.
struct ShellState {
  std::optional<std::vector<std::string>> arguments;  ///< `$1`, `$2`, …; nothing is known of none
  std::map<std::string, std::string, std::less<>> variables;
  std::map<std::string, std::string, std::less<>> held;  ///< which scripts do not set otherwise
  std::set<std::string, std::less<>> used;               ///< variables whose value was asked for
  std::set<std::string, std::less<>> scripts;  ///< names of the files that were read before
  std::map<std::string, std::string, std::less<>> files;  ///< scripts that others may run, by name
  std::map<std::string, std::string, std::less<>> functions;  ///< and what each does
  std::set<std::string, std::less<>>
      wanted;  ///< paths of scripts to source or run that are not given
};

/// A chain of branches (`if` … `elif`, `case`) of which it is not known here which one runs.
struct OpenChain {
  std::string subject;              ///< what its tests look at: `$MODEL_SIZE`, `$2`
  std::vector<std::string> values;  ///< with which each alternative runs; empty for the others
  std::size_t taken{};              ///< the alternative that was read
  std::size_t number{};             ///< which chain of the script it is
};

/// The alternatives as words: "7B, 13B or another".
std::string told(const OpenChain& chain);
/// How a user can say which: "; --env MODEL_SIZE=7B says it".
std::string how_to_say(const OpenChain& chain);

/// Stands behind the words of each command.
inline constexpr std::string_view kCommandEnd = ";";

/// The words of all commands and `#SBATCH` lines. Values that cannot be known without running the
/// script keep their `$`.
struct LaunchScript {
  std::vector<std::string> words;
  std::vector<std::string> here_documents;
  ShellState state;                  ///< as it is at the end
  std::vector<OpenChain> open;       ///< with two alternatives or more
  std::vector<std::string> assumed;  ///< defaults taken, branches that may not run
};

/// The alternative to read of a chain, by the chain's number.
using Choices = std::map<std::size_t, std::size_t>;

/// Where a script starts that is given these. Throws InputError for what is not NAME=VALUE.
ShellState shell_state(const ScriptInputs& inputs);

/// Throws InputError for scripts that expand to more than 4 MiB.
LaunchScript read_launch_script(const std::string& file, std::string_view text,
                                const ShellState& before = {}, const Choices& choices = {});

/// Throws InputError, naming what decides, where the alternatives of an open chain give the model
/// different layers or widths.
void refuse_open_sizes(const std::string& file, std::string_view text, const ShellState& before,
                       const LaunchScript& script);

}  // namespace prequel
