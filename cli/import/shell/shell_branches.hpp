#pragma once

/// Which commands of a shell script would run, as far as that is known without running it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// Follows `if`, `case`, `while`, `&&` and `||` from command to command. Tests of two known values
/// are judged; of all others both outcomes are possible.
class ShellBranches {
 public:
  enum class Truth { no, yes, unknown };

  /// The effect of a keyword: a chain of branches was opened, one of them ended, the chain was
  /// closed.
  struct Event {
    enum class Kind { opened, ended, closed };
    Kind kind{};
    bool loop{};          ///< a chain of `while`, which has one branch
    Truth ran{};          ///< of `ended`: whether that branch ran, given that the chain is reached
    bool otherwise{};     ///< of `ended`: it runs where none before did (`else`, `*)`)
    std::string subject;  ///< of `ended`: what its test holds against `value`: `$SIZE`
    std::string value;
  };

  /// Takes keywords and tests out of a command that `end` ended (one of `;|&()`, a line's end);
  /// what is left of it is to be read. Says whether it would run, given that its branch does; `no`
  /// where that is known not to.
  Truth take(std::vector<std::string>& command, char end);
  /// Returns the effects of the keywords in the commands since the last call, in order.
  std::vector<Event> events();
  /// Tests whether the branches that were begun are known not to run.
  [[nodiscard]] bool skips() const { return running() == Truth::no; }

 private:
  enum class Construct { choice, selection, loop, repetition, group };  ///< if, case, while, for, {
  enum class Kind { condition, body, pattern };
  struct Level {
    Construct construct{};
    Truth outside{};  ///< whether what is around it runs
    Truth earlier{};  ///< whether a branch before this one ran
    Truth now{};      ///< whether this one does, if none before did
    Kind kind{};
    bool tested{};        ///< whether `now` is what a first test of the condition says
    std::string subject;  ///< of `case`, or of the first test
    std::string value;
  };

  [[nodiscard]] Truth running() const;
  void open(Construct construct, Truth now, Kind kind, std::string subject = {});
  void close();

  /// `{` behind `&&` or `||`, whose commands run or do not as one, and its `}`.
  void take_group(std::vector<std::string>& command, bool& gated, Truth& gate);
  bool keyword(std::vector<std::string>& command);
  void open_case(std::vector<std::string>& command);
  void next_branch();
  Truth take_pattern(std::vector<std::string>& command, char end);
  Truth take_condition(std::vector<std::string>& command, char before);

  std::vector<Level> levels_;
  std::vector<Event> events_;
  std::optional<Truth> next_;  ///< of the command behind a test and `&&` or `||`
  char before_{'\n'};          ///< what ended the command before
  bool joined_{};              ///< whether one `&` or `|` of two was seen, behind a test
  Truth test_{Truth::yes};     ///< what that test says, or the command behind it that ran if it did
};

}  // namespace prequel
