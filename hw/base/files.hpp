#pragma once

/// Reading and writing whole files, safely.

#include <cstddef>
#include <string>
#include <string_view>

namespace prequel {

/// The content of a regular file of at most `limit` bytes. Throws InputError: missing, a
/// directory, device or pipe, too large, not readable.
std::string read_file(const std::string& path, std::size_t limit = 16u << 20);

/// Writes `content` to a temporary file beside `path`, then renames it: `path` holds the old
/// content or all of the new one, never a part. A device or pipe is written to as it is. Throws
/// InputError when it cannot be written.
void write_file(const std::string& path, std::string_view content);

}  // namespace prequel
