#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace prequel {

struct JsonText;

/// The SHA-256 of a text, worked out when it is first asked for: most answers do not tell it.
class LazyHash {
 public:
  explicit LazyHash(std::string text) : text_(std::move(text)) {}
  const std::string& value();

 private:
  std::once_flag once_;
  std::string text_;  ///< then its hash
};

/// A JSON file as it was read.
struct CachedFile {
  std::shared_ptr<const JsonText> parsed;
  std::shared_ptr<LazyHash> sha256;  ///< of its text
};

/// JSON files, each read and parsed once as long as it does not change (by its time and size).
/// Several threads may share one.
class FileCache {
 public:
  /// Throws InputError when the file cannot be read or is no JSON.
  CachedFile read(const std::string& path);

 private:
  struct Entry {
    std::filesystem::file_time_type changed;
    std::uintmax_t size{};
    CachedFile file;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  ///< by path
};

}  // namespace prequel
