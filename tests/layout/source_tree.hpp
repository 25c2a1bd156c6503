#pragma once

/// The project's own files, as the tests of its layout see them.

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "hw/base/files.hpp"

namespace prequel {

inline std::filesystem::path source_root() {
  return PREQUEL_SOURCE_DIR;
}

/// The files under `folder` with one of these extensions, as paths below the root, in order.
inline std::vector<std::string> files_under(const std::string& folder,
                                            const std::vector<std::string>& extensions) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() / folder)) {
    const auto& path = entry.path();
    if (std::ranges::find(extensions, path.extension().string()) == extensions.end()) continue;
    found.push_back(path.lexically_relative(source_root()).generic_string());
  }
  std::ranges::sort(found);
  return found;
}

/// The lines of a file below the root.
inline std::vector<std::string> lines_of(const std::string& file) {
  std::istringstream text(read_file((source_root() / file).string()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace prequel
