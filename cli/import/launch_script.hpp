#pragma once

/// Reads bash launch scripts without running them: variables, arrays, arithmetic, continued lines,
/// functions, here-documents and `#SBATCH` lines. Of branches whose tests compare what is known,
/// the one that runs is read; of others one alternative, and which there were is told. `while` runs
/// as often as its test says where that is known; other loops are read once, for their last value.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/script_inputs.hpp"

namespace prequel {

/// What a script starts from: arguments and environment, or what another script left.
struct ShellState {
  std::optional<std::vector<std::string>> arguments;  ///< `$1`, `$2`, …; nothing is known of none
  std::map<std::string, std::string, std::less<>> variables;
  std::set<std::string, std::less<>> used;     ///< variables whose value was asked for
  std::set<std::string, std::less<>> scripts;  ///< names of the files that were read before
  std::map<std::string, std::string, std::less<>> functions;  ///< and what each does
};

/// Where a script starts that is given these. Throws InputError for what is not NAME=VALUE.
ShellState shell_state(const ScriptInputs& inputs);

/// A chain of branches (`if` … `elif`, `case`) of which it is not known here which one runs.
struct OpenChain {
  std::string subject;              ///< what its tests look at: `$MODEL_SIZE`, `$2`
  std::vector<std::string> values;  ///< with which each alternative runs; empty for the others
  std::size_t taken{};              ///< the alternative that was read
  std::size_t number{};             ///< which chain of the script it is
};

/// Stands behind the words of each command.
inline constexpr std::string_view kCommandEnd = ";";

/// The words of all commands and `#SBATCH` lines. What cannot be known without running the script
/// keeps its `$`.
struct LaunchScript {
  std::vector<std::string> words;
  std::vector<std::string> here_documents;
  ShellState state;                  ///< as it is at the end
  std::vector<OpenChain> open;       ///< with two alternatives or more
  std::vector<std::string> assumed;  ///< defaults taken, branches that may not run
};

/// The alternative to read of a chain, by the chain's number.
using Choices = std::map<std::size_t, std::size_t>;

/// Throws InputError for scripts that expand to more than 4 MiB.
LaunchScript read_launch_script(const std::string& file, std::string_view text,
                                const ShellState& before = {}, const Choices& choices = {});

/// Throws InputError, naming what decides, where the alternatives of an open chain give the model
/// different layers or widths.
void refuse_open_sizes(const std::string& file, std::string_view text, const ShellState& before,
                       const LaunchScript& script);

}  // namespace prequel
