#include "hw/base/built_in_files.hpp"

#include <algorithm>
#include <span>

namespace prequel {

/// A file and the place of its content in the program.
struct BuiltInFile {
  std::string_view path;  ///< below kBuiltInFolder, with its slash
  const char* begin;
  const char* end;
};

#ifdef PREQUEL_BUILT_IN_FILES
/// Returns all of them, sorted by path: from the source that CMake generates.
std::span<const BuiltInFile> built_in_files();
#else
namespace {
std::span<const BuiltInFile> built_in_files() {
  return {};
}
}  // namespace
#endif

std::optional<std::string_view> built_in_file(std::string_view path) {
  if (!path.starts_with(kBuiltInFolder)) return std::nullopt;
  path.remove_prefix(kBuiltInFolder.size());
  const auto files = built_in_files();
  const auto found = std::ranges::lower_bound(files, path, {}, &BuiltInFile::path);
  if (found == files.end() || found->path != path) return std::nullopt;
  return std::string_view(found->begin, static_cast<std::size_t>(found->end - found->begin));
}

std::vector<std::string> built_in_files_of(std::string_view folder) {
  std::vector<std::string> paths;
  if (!folder.starts_with(kBuiltInFolder)) return paths;
  folder.remove_prefix(kBuiltInFolder.size());
  for (const BuiltInFile& file : built_in_files()) {
    if (file.path.substr(0, file.path.rfind('/')) == folder) {
      paths.push_back(std::string(kBuiltInFolder).append(file.path));
    }
  }
  return paths;
}

bool has_built_in_files() {
  return !built_in_files().empty();
}

}  // namespace prequel
