#pragma once

/// Pieces of a shell script's text: where they end, and what operators make of a known value.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace prequel {

/// Behind the bracket that closes the one at `at`, of `$(…)` and `((…))`: quotes and comments may
/// hold others. npos where none does.
std::size_t end_of_brackets(std::string_view text, std::size_t at);

/// Behind the `))` of the `((` at `at`. npos where there is none.
std::size_t end_of_arithmetic(std::string_view text, std::size_t at);

/// A function's definition: `name() {` or `function name {`.
struct FunctionDefinition {
  std::string name;
  std::string_view body;  ///< between its braces
  std::size_t end{};      ///< behind them; npos where the brace is never closed
};
/// The one that begins at `at`; without a name where none does.
FunctionDefinition function_definition(std::string_view text, std::size_t at);

/// Whether `*` and `?` of a pattern can stand for the rest of a text; empty for patterns of other
/// kinds.
std::optional<bool> fits_pattern(std::string_view text, std::string_view pattern);

/// What `${NAME#*_}`, `%%-*`, `/a/b`, `:0:2`, `,,` and `[1]` make of the value; `change` is what
/// stands behind the name. Empty for what is none of these.
std::optional<std::string> changed(std::string_view value, std::string_view change);

}  // namespace prequel
