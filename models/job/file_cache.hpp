#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace prequel {

/// A file as it was read.
struct CachedFile {
  std::string text;
  std::string sha256;  ///< of the text
};

/// Files, each read once as long as it does not change (by its time and size). Several threads may
/// share one.
class FileCache {
 public:
  /// Throws InputError when the file cannot be read.
  std::shared_ptr<const CachedFile> read(const std::string& path);

 private:
  struct Entry {
    std::filesystem::file_time_type changed;
    std::uintmax_t size{};
    std::shared_ptr<const CachedFile> file;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  ///< by path
};

}  // namespace prequel
