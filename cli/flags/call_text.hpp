#pragma once

#include <string>

namespace CLI {
class App;
}

namespace prequel {

/// The call that the parser of a whole program was given, spelt one way whoever asks: options by
/// their first long names, in the order of the manual, without those that only say where and how
/// the answer is shown.
std::string call_text(const CLI::App& program);

/// Returns a word as a shell takes it: in quotes where it has letters that mean something there.
std::string shell_quoted(const std::string& word);

}  // namespace prequel
