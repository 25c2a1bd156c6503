#pragma once

/// States before and after a launch script is read.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace prequel
