#pragma once

/// Which commands of a shell script would run, as far as that is known without running it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// Follows `if`, `case`, `&&` and `||` from command to command. Tests of two known values are
/// judged; of all others both outcomes are possible.
class ShellBranches {
 public:
  enum class Truth { no, yes, unknown };

  /// Takes keywords and tests out of a command that `end` ended (one of `;|&()`, a line's end);
  /// what is left of it is to be read. Says whether it would run.
  Truth take(std::vector<std::string>& command, char end);
  /// Whether the innermost branch that was begun is one that runs.
  [[nodiscard]] Truth running() const;

 private:
  enum class Kind { condition, body, pattern };
  struct Level {
    Truth outside;  ///< whether what is around it runs
    Truth earlier;  ///< whether a branch before this one ran
    Truth now;      ///< whether this one does, if none before did
    Kind kind;
    bool is_case;
    bool tested;          ///< whether `now` is what a first test of the condition says
    std::string subject;  ///< of `case`
  };

  bool keyword(std::vector<std::string>& command);
  void open_case(std::vector<std::string>& command);
  void next_branch();
  Truth take_pattern(std::vector<std::string>& command, char end);
  Truth take_condition(std::vector<std::string>& command, char before);

  std::vector<Level> levels_;
  std::optional<Truth> next_;  ///< of the command behind a test and `&&` or `||`
  char before_{'\n'};          ///< what ended the command before
  bool joined_{};              ///< whether one `&` or `|` of two was seen, behind a test
  Truth test_{Truth::yes};     ///< what that test says, or the command behind it that ran if it did
};

}  // namespace prequel
