#pragma once

/// Lists of values as users write them, and layouts.

#include <cstdint>
#include <string>
#include <vector>

#include "models/axes/plan_request.hpp"

namespace prequel {

/// The parts between separators, empty ones too.
std::vector<std::string> split(const std::string& text, char separator);

/// "1,2,4", "8:64:8" (first, last, step), or both mixed: ascending, each once. Throws InputError
/// that begins with `flag`.
std::vector<std::int64_t> whole_numbers(const std::string& flag, const std::string& text,
                                        std::int64_t least, std::int64_t most);

/// Reads "tp=8,pp=12,recompute=full": fields of a plan, by the names of jobs or of flags. Throws
/// InputError that begins with `flag`.
PlanRequest read_layout(const std::string& flag, const std::string& text);

}  // namespace prequel
