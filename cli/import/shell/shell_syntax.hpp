#pragma once

/// The syntax of shell scripts: a text as a tree of commands, of which nothing has run. Whatever
/// the text, there is a tree of it; what nothing closes ends with the text.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// A piece of a word: plain text without its quotes, or `$…` or a command in backticks as written.
struct WordPart {
  bool expands{};
  std::string text;
};

struct ShellWord {
  bool arithmetic{};  ///< `((…))`, whose inside is the only part
  std::vector<WordPart> parts{};
  bool whole{};                       ///< blanks do not part it: it was quoted
  std::vector<ShellWord> elements{};  ///< of `NAME=(…)`

  /// Its text, of expansions as written.
  [[nodiscard]] std::string text() const;
};

struct ShellCommand;
using CommandList = std::vector<ShellCommand>;

/// Commands that run or do not as one, and what decides it.
struct ShellBranch {
  std::vector<ShellWord> patterns;  ///< of `case`
  CommandList condition;            ///< of `if` and `while`
  CommandList body;
};

struct ShellCommand {
  enum class Kind {
    simple,
    choice,
    selection,
    loop,
    repetition,
    group,
    function,
    document,
    request
  };
  /// The sign between two commands: none, or `|`, `&&` or `||`.
  enum class Sign { none, pipe, both, either };

  Kind kind{};
  Sign sign{};                     ///< before it
  std::vector<ShellWord> words{};  ///< also what `case` looks at, and what `for` goes through
  std::vector<ShellBranch> branches{};
  bool closed{};       ///< by `fi`, `esac`, `done` or `}`
  bool cut{};          ///< looks like more of a command before it, which a comment ended
  std::string name{};  ///< of a function, of the variable of `for`, of a document's command
  std::string text{};  ///< of a function's body, a here-document or a `#SBATCH` line
  std::string last{};  ///< of a document's command, the last word
};

/// Throws InputError, which begins with `file`, for more than 64 branches in branches.
CommandList shell_commands(std::string_view text, const std::string& file = {});

/// Behind the `$…` or the backticks at `at`; of `$(…)`, quotes, comments and here-documents may
/// hold other brackets. Behind the sign where nothing closes them.
std::size_t end_of_expansion(std::string_view text, std::size_t at);

}  // namespace prequel
