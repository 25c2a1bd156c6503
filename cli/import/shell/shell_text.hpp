#pragma once

/// Pieces of a shell script's text: where they end, what operators make of a known value, bash's
/// arithmetic over whole numbers, and filters of a pipe (`cut`, `tr`, `wc`, `head`, `tail`, `awk`,
/// `sed`).

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

bool is_shell_blank(char c);
/// Tests whether it is the name of a variable, or of an argument.
bool is_variable_name(std::string_view name);
/// How many letters at the begin could be a variable's name.
std::size_t name_length(std::string_view text);
/// The length of the name in front of `LAYERS=32` and `LAYERS+=32`; 0 for other words.
std::size_t assigned_length(std::string_view word);
/// Tests for `LAYERS[7B]=32`, which arrays keep as their words.
bool is_element(std::string_view word);
/// Stands for a blank inside an element of an array, whose elements blanks part.
inline constexpr char kBlankInside = '\x1f';
inline constexpr std::string_view kHereString = "<<<";
std::string with_blanks(std::string text);
/// `"$@"` and `"${FLAGS[@]}"`, which are as many words as they hold.
bool is_list(std::string_view word);
/// Appends the words between blanks.
void split_words(std::string_view text, std::vector<std::string>& words);
/// Returns the words with a blank between two.
std::string in_one_line(std::span<const std::string> words);

/// Returns the value of an option: `-d X`, `-dX` or `--name=X`; the first counts.
std::optional<std::string> option_value(const std::vector<std::string>& command,
                                        std::string_view name);

/// Tests whether `*` and `?` of a pattern can stand for the rest of a text; empty for patterns of
/// other kinds.
std::optional<bool> fits_pattern(std::string_view text, std::string_view pattern);

/// Returns the value after `${NAME#*_}`, `%%-*`, `/a/b`, `:0:2`, `,,` or `[1]`; `change` is the
/// text behind the name. Empty for all other changes.
std::optional<std::string> changed(std::string_view value, std::string_view change);

/// The value of `$((…))`, with all operators of bash that yield a number without setting any;
/// empty for what holds a name, or is not arithmetic, or overflows.
std::optional<long long> shell_arithmetic(std::string_view text);
std::optional<std::string> shell_number(std::string_view text);

/// `NAME = …`, `NAME += …`, `NAME++` of `((…))` and `let`: the name, and what its value is to be.
struct ArithmeticAssignment {
  std::string name;
  std::string value;  ///< as an expression
};
std::optional<ArithmeticAssignment> arithmetic_assignment(std::string_view text);

/// Returns the output of the command for a text on its standard input; empty for other commands and
/// other uses of these.
std::optional<std::string> filtered(const std::string& text,
                                    const std::vector<std::string>& command);
/// The text of `printf FORMAT VALUE…`, of which these are the words; of `%s` and `%d` alone.
std::optional<std::string> printed_text(std::span<const std::string> words);
/// Returns the output of `echo`, `printf` and `expr`.
std::optional<std::string> said(const std::vector<std::string>& command);

}  // namespace prequel
