#pragma once

/// Parsing of JSON text for json_cursor.cpp: strict, and safe on hostile text.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace prequel {

/// Throws InputError, with `file` in the message, when `text` is not JSON, is nested deeper than
/// 64 levels or has the same key twice in an object.
nlohmann::json parse_json(const std::string& file, std::string_view text);

/// Where each JSON pointer stands in valid `text`, as a rank: a value that is not there has the
/// rank of the innermost value around it that is.
std::vector<std::size_t> document_order(std::string_view text,
                                        const std::vector<std::string>& pointers);

/// The JSON pointer (RFC 6901) of a member of the object at `pointer`.
std::string member_pointer(std::string_view pointer, std::string_view key);

}  // namespace prequel
