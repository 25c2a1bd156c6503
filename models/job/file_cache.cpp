#include "models/job/file_cache.hpp"

#include "hw/base/built_in_files.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/sha256.hpp"

namespace prequel {

namespace fs = std::filesystem;

const std::string& LazyHash::value() {
  std::call_once(once_, [this] { text_ = sha256(text_); });
  return text_;
}

CachedFile FileCache::read(const std::string& path) {
  std::error_code unknown;  // what is wrong with the file, reading it tells
  const fs::file_time_type changed = fs::last_write_time(path, unknown);
  const std::uintmax_t size = unknown ? 0 : fs::file_size(path, unknown);
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(path);
  if (built_in_file(path)) unknown.clear();  // it never changes
  if (!unknown && known != entries_.end() && known->second.changed == changed &&
      known->second.size == size) {
    return known->second.file;
  }
  std::string text = read_file(path);
  const std::shared_ptr<const JsonText> parsed = parse_text(path, text);
  const CachedFile file{parsed, std::make_shared<LazyHash>(std::move(text))};
  entries_.insert_or_assign(path, Entry{changed, size, file});
  return file;
}

}  // namespace prequel
