#pragma once

/// Why a command line could not be understood, in the user's words.

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace prequel {

/// Returns the words that the parser did not understand, with the nearest option or command that
/// would do.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error);

}  // namespace prequel
