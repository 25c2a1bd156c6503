#pragma once

/// Counts as people spell them: 8k, 4M, 15T.

#include <optional>
#include <string>

namespace prequel {

/// Thousands are 1,000 in amounts (15T tokens of a training), 1,024 in lengths and batches (8k).
enum class Thousand : int { decimal = 1000, binary = 1024 };

/// Returns whether a text is a number and one of the letters k, M, G, B or T, in either case.
bool is_spelled_count(const std::string& text);

/// Returns the count that a text says, with or without such a letter; nothing for anything else.
std::optional<double> spelled_count(const std::string& text, Thousand thousand);

}  // namespace prequel
