#pragma once

/// Lists of values as users write them.

#include <cstdint>
#include <string>
#include <vector>

namespace prequel {

/// The parts between separators, empty ones too.
std::vector<std::string> split(const std::string& text, char separator);

/// "1,2,4", "8:64:8" (first, last, step), or both mixed: ascending, each once. Throws InputError
/// that begins with `flag`.
std::vector<std::int64_t> whole_numbers(const std::string& flag, const std::string& text,
                                        std::int64_t least, std::int64_t most);

}  // namespace prequel
