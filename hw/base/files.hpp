#pragma once

/// Reading and writing whole files, safely.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// Tests whether there is a folder of that name; a name that no file can have is none.
bool is_folder(const std::string& path) noexcept;

/// Tells whether there is a regular file of that name, on the disk or inside the program.
bool is_file(const std::string& path) noexcept;

/// Returns the last name of a path: of a file without its folders.
std::string file_name(std::string_view path);

/// Returns the paths of the regular files of a folder, in any order; none where it cannot be read.
std::vector<std::string> files_of(const std::string& folder);

/// The content of a regular file of at most `limit` bytes. Throws InputError: missing, a
/// directory, device or pipe, too large, not readable.
std::string read_file(const std::string& path, std::size_t limit = 16u << 20);

/// Hands the content of a file or pipe, or of stdin where `path` is `-`, to `take` piece by piece,
/// in constant memory; `take` says whether it wants more. Throws InputError as `read_file` does.
void read_pieces(const std::string& path, const std::function<bool(std::string_view)>& take);

/// Writes `content` to a temporary file beside `path`, then renames it: `path` holds the old
/// content or all of the new one, never a part. A device or pipe is written to as it is. Throws
/// InputError when it cannot be written.
void write_file(const std::string& path, std::string_view content);

}  // namespace prequel
