#pragma once

/// One reading of a launch script: commands (script_reader.cpp), what stands for their `$…`
/// (script_expansions.cpp), functions, loops and branches (script_calls.cpp).

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/import/shell/shell_branches.hpp"
#include "cli/import/shell/shell_state.hpp"

namespace prequel {

/// `#SBATCH` lines count as commands. Unknown values keep their `$`.
class ScriptReader {
 public:
  ScriptReader(std::string file, const ShellState& before, const Choices& choices)
      : file_(std::move(file)), choices_(choices), state_(before) {}

  void read(std::string_view text, int depth);
  LaunchScript finished();

 private:
  static constexpr int kMostNested = 8;
  static constexpr std::string_view kHereString = "<<<";
  static constexpr std::size_t kMostChains = 64;  ///< open at once, and told

  /// Commands read while a chain of branches is open: what an alternative sets and starts is put
  /// aside when it ends, and one alternative is chosen when the chain is closed.
  struct Alternative {
    std::string value;  ///< with which it runs
    bool otherwise{};   ///< it runs where none before does
    bool leaves{};      ///< it ends the script
    std::map<std::string, std::string> sets;
    std::vector<std::string> words, here_documents;
  };
  struct Chain {
    std::size_t number{};
    std::string subject;
    std::vector<Alternative> alternatives;
    // State before the branch that is read.
    std::map<std::string, std::optional<std::string>> before;
    std::size_t words{}, here_documents{};
    bool leaves{};
  };

  /// A here-document that a command announced.
  struct Announced {
    std::string delimiter;
    bool runs{};       ///< the command reads it as a script
    std::string name;  ///< of the variable that `read` keeps it in
  };

  /// A `while`: where it begins.
  struct Loop {
    std::size_t begin{};
    bool runs{};
  };

  void spend(std::size_t bytes);
  /// As a test of its value, or as an assignment; what a `for` counts by is passed over.
  std::size_t arithmetic_command(std::string_view text, std::size_t at,
                                 std::vector<std::string>& command);
  /// Drops words that a comment cut off from their command: they begin with a dash but are no part
  /// of it. Returns whether the next command may be of that kind.
  bool drop_cut(std::vector<std::string>& command, bool cut, bool commented);
  /// Counts the request to a scheduler as words of a command; variables follow from it.
  void scheduler_line(std::string_view line);
  void submit(const std::vector<std::string>& options);
  /// Where output goes is nothing of the command.
  void pass_redirection(std::string_view text, std::size_t& at, std::vector<std::string>& command);
  void here_document(std::string_view text, std::size_t& at, const Announced& one, int depth);
  /// Sets what a command of assignments sets, else keeps its words; quoted commands are read too.
  void finish(std::vector<std::string>& command, int depth, char end);
  /// Marks where a command's words end.
  void end_words();
  /// `IFS=, read -r A B <<< "1,2"`; the last name takes what is left, that of `-a` all.
  bool read_words(const std::vector<std::string>& command);
  void assign_word(const std::string& value, std::size_t length, bool appends, bool optional);
  void append_element(const std::string& value, std::size_t length);
  void set(const std::string& name, std::string value);
  /// Tests whether a variable keeps the value that it was given for good.
  bool is_held(const std::string& name, const std::string& value);
  /// Assigns a value. A known one outlives an unknown one: a value that only a run would tell, or
  /// one that is set under an unknown condition (`optional`).
  void assign(const std::string& name, std::string value, bool optional);
  void assume(std::string text);
  /// Options in brief of launchers as the long ones; scripts that a command reads and that are not
  /// given are named.
  void prepare(std::vector<std::string>& command);
  /// One word with its expansions, and whether a part of it was quoted.
  std::pair<std::string, bool> word(std::string_view text, std::size_t& at);
  /// Returns the output of a command, as far as it is known.
  std::optional<std::string> substitution(std::string_view inside);
  /// The old way to write a substitution.
  std::string backticks(std::string_view text, std::size_t& at);
  /// `echo A,B | tr ',' ' ' | wc -w` and `cut -d, -f1 <<< A,B`, of a known text.
  std::optional<std::string> through_filters(std::string_view inside);
  /// Tests whether a substitution could be known: it calls a function, or `echo`.
  [[nodiscard]] bool may_print(std::string_view text) const;
  /// The words of `echo` or `printf`.
  void print(const std::vector<std::string>& command);
  /// How many nodes there are, where `wc -l` counts them in what a scheduler made.
  std::optional<std::string> counted_nodes(std::string_view inside) const;
  /// `cat <<END … END`: the text, with what its `$…` stand for.
  std::optional<std::string> printed_document(std::string_view inside);
  /// A text with what its `$…` stand for, and without quotes.
  std::string expanded(std::string_view text);
  /// Returns the value of the `$…` at `at`; the text itself where nothing is known.
  std::string expansion(std::string_view text, std::size_t& at);
  /// Returns the value of a variable, or of an argument where those are known: empty beyond the
  /// last.
  std::optional<std::string> value_of(std::string_view name);
  /// Returns the value of `${NAME}`, `${NAME:-default}`, `${NAME:=default}`, `${NAME:+other}`,
  /// `${NAME[1]}`, `${#NAME}`, `${!NAME}` or `${NAME%%-*}`.
  std::optional<std::string> of_braces(std::string_view inside);
  /// `${#NAME}`: letters; `${#NAME[@]}`: words.
  std::optional<std::string> length_of(std::string_view name);
  std::string spent(const std::string& value);
  /// Variables inside `$((…))` stand with or without their `$`.
  std::string with_numbers(std::string_view text);
  /// The value of arithmetic; what is not known keeps its `$`.
  std::string number_of(std::string_view text);
  /// `A = B * 2` as `A=8`.
  std::optional<std::string> assigned_number(std::string_view text);
  void array(std::string_view text, std::size_t& at, std::string& value);
  /// Remembers the function that is defined here. False where none is, for good (`more`) if one
  /// has no end.
  bool define(std::string_view text, std::size_t& at, bool& more);
  /// Functions may be called in ways that are not seen here, where all else starts nothing.
  void read_uncalled();
  /// A function's commands, as a call with these arguments runs them.
  void call(std::string body, std::optional<std::vector<std::string>> arguments);
  /// Returns the output of commands, which leave the variables as they were; empty where programs
  /// print.
  std::optional<std::string> printed_by(std::string_view commands);
  /// Another text before the rest of this one.
  void read_inside(std::string_view text, int depth);
  /// Where all arguments are passed on, they stay as well known as they were.
  void run_function(const std::string& name, std::vector<std::string> arguments);
  /// Tests whether a command runs or sources another of the given scripts; notes those that are not
  /// given.
  [[nodiscard]] bool runs_file(const std::vector<std::string>& command, std::size_t at);
  void run_file(const std::vector<std::string>& command, std::size_t at);
  /// Makes the names after `local` the function's own; they are as before when it ends.
  void keep_locals(const std::vector<std::string>& command);
  /// `getopts "t:p:" name` as a test of whether there is another option among the arguments that
  /// are known, which it takes.
  void judge_getopts(std::vector<std::string>& command);
  /// `[ "$SEQ_PAR" != false ]` of a switch that nothing sets, and `[ -z $1 ]`: what a run without
  /// it does.
  void judge_unset_switch(std::vector<std::string>& command);
  void shift(const std::vector<std::string>& command);
  /// A loop is read once, for its last value.
  void repeat(const std::vector<std::string>& repetition);
  /// Where to read on: behind the command, or at the `while` whose round has ended.
  std::size_t next(std::vector<Loop>& loops, std::size_t begin, std::size_t behind);
  void follow(const ShellBranches::Event& event);
  void begin_branch();
  /// Puts aside what a branch did that may have run; what one did that runs stays.
  void end_branch(const ShellBranches::Event& event);
  /// Chooses among alternatives that do not end the script: the one that was asked for, else the
  /// one that runs where no other does, else the first.
  void close_chain();
  void tell(const Chain& chain, std::size_t taken);

  std::string file_;
  LaunchScript result_;
  const Choices& choices_;
  ShellState state_;
  std::vector<Chain> chains_;  ///< open, the innermost last
  std::size_t chain_count_{0};
  std::vector<ShellBranches::Event> loop_events_;  ///< of the command that was taken last
  int rounds_{0};                                  ///< of all `while`
  std::size_t spent_{0};
  bool keeps_elements_{};  ///< of arrays apart, for a `for`
  int braces_{0};          ///< how deep in defaults of defaults
  ShellBranches branches_;
  std::map<std::string, std::string> defaults_;  ///< taken from `${NAME:-…}` in this command
  std::set<std::string> assumed_;
  std::set<std::string> uncalled_;   ///< functions of this file
  std::set<std::string> submitted_;  ///< options of `sbatch`, which go over those of the script
  bool counts_tasks_{};              ///< an option says how many tasks there are
  bool prints_{};                    ///< words are those that a function prints
  bool opaque_{};                    ///< and those of programs, which are not known
  std::size_t options_{0};           ///< that `getopts` has taken of the arguments
  int calls_{0};                     ///< of functions, one in another
  /// Values of the names that a function calls its own, before it was called; the innermost last.
  std::vector<std::map<std::string, std::optional<std::string>>> locals_;
};

}  // namespace prequel
