#pragma once

/// Files that the program carries inside itself: those of data/, in a program that is made to be
/// taken away (PREQUEL_STATIC). Other programs carry none.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// Folder under whose name the files inside the program are found.
inline constexpr std::string_view kBuiltInFolder = "built-in:/data";

/// Returns the content of a file inside the program; nothing where there is none at `path`.
std::optional<std::string_view> built_in_file(std::string_view path);
/// Returns the paths of the files of a folder inside the program, sorted; those of its folders are
/// left out.
std::vector<std::string> built_in_files_of(std::string_view folder);
/// Tells whether the program carries any files.
bool has_built_in_files();

}  // namespace prequel
