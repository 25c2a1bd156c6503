#pragma once

/// Small helpers for text from outside.

#include <cstddef>
#include <string>
#include <string_view>

namespace prequel {

/// `text` without the blanks and tabs around it.
std::string_view trimmed(std::string_view text);

/// Tests whether a name of a variable may hold it: a letter, a digit or an underscore.
bool is_name_letter(char c);

/// Returns a key as people read it: with blanks for its underscores.
std::string spaced(std::string_view key);

/// Foreign text as a message may show it: on one line, control characters and bytes that are not
/// UTF-8 as `\xNN`, and cut with `…` where it has more than `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);
/// `printable` text in double quotes.
std::string in_quotes(std::string_view text, std::size_t limit = 60);

}  // namespace prequel
