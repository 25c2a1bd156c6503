#pragma once

/// Why a command line could not be understood, in the user's words.

#include <string>
#include <vector>

#include "cli/flags/foreign_flag.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace prequel {

/// Returns the words that the parser did not understand, with what would do: the option that says
/// what another program's flag does, or the nearest option or command. `names` is asked for what
/// other programs call settings; `line` is the command line, whose values the parser may have taken
/// for others.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& line = {},
                          const ReadNames& names = nullptr);

}  // namespace prequel
