#pragma once

/// Why a command line could not be understood, in the user's words.

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace prequel {

struct ForeignNames;

/// Reads what other programs call settings, when it is needed. Throws InputError.
using ReadNames = std::function<std::shared_ptr<const ForeignNames>()>;

/// Returns the flags of prequel that say the same ("--recompute full" of
/// "--gradient-checkpointing"); the empty text where importers would not know it, or not as an axis
/// of a plan, or where the names cannot be read.
std::string said_here(const ReadNames& names, const std::string& flag, const std::string& value);

/// Returns the words that the parser did not understand, with what would do: the option that says
/// what another program's flag does, or the nearest option or command. `names` is asked for what
/// other programs call settings; `line` is the command line, whose values the parser may have taken
/// for others.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& line = {},
                          const ReadNames& names = nullptr);

}  // namespace prequel
