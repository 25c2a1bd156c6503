#pragma once

/// How prequel lays out the JSON files that it writes for people to read and compare.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace prequel {

/// `value` with two spaces of indent; objects and arrays that fit on one line of `width` stand on
/// one. Ends with a line feed.
std::string laid_out(const nlohmann::ordered_json& value, std::size_t width = 98);

/// `value` to `digits` significant digits, so that files differ where constants do.
double rounded(double value, int digits = 4);

}  // namespace prequel
