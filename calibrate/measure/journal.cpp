#include "calibrate/measure/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "hw/base/errors.hpp"

namespace prequel {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "prequel/measurement/1";

std::string content_of(int file, const std::string& path) {
  std::string content;
  std::array<char, 1 << 16> part{};
  ssize_t got = 0;
  while ((got = read(file, part.data(), part.size())) > 0) {
    content.append(part.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return content;
}

/// The part of a point's line that says which work it is.
std::string key_of(const ordered_json& point) {
  ordered_json key = ordered_json::object();
  for (const auto& [field, value] : point.items()) {
    if (field == "time_s" || field == "skipped") break;
    key[field] = value;
  }
  return key.dump();
}

}  // namespace

Journal::Journal(const std::string& path, bool resume, const std::string& context) : path_(path) {
  const int create = resume ? 0 : O_EXCL;
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | create, 0644);
  if (file_ < 0) {
    throw InputError(errno == EEXIST
                         ? fmt::format("{}: is there already; resume goes on with it", path)
                         : fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  try {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      throw InputError(fmt::format("{}: another process is writing to it", path));
    }
    read_finished();
    append(ordered_json{{"schema", kSchema}, {"context", ordered_json::parse(context)}}.dump());
  } catch (...) {
    close(file_);
    throw;
  }
}

Journal::~Journal() {
  close(file_);
}

void Journal::read_finished() {
  const std::string content = content_of(file_, path_);
  std::size_t start = 0;
  for (std::size_t line = 1; start < content.size(); ++line) {
    const std::size_t end = content.find('\n', start);
    if (end == std::string::npos) break;  // cut off by a kill
    const auto value = ordered_json::parse(content.substr(start, end - start), nullptr, false);
    if (!value.is_object() || (line == 1 && value.value("schema", ordered_json()) != kSchema)) {
      throw InputError(
          fmt::format("{}:{}: not a line of a measurement file ({})", path_, line, kSchema));
    }
    if (!value.contains("schema")) done_.insert(key_of(value));
    start = end + 1;
  }
  // Nothing of ours ends without a line end: a first line that does is another file.
  if (start == 0 && !content.empty() && !content.starts_with("{\"schema\":\"prequel/")) {
    throw InputError(fmt::format("{}:1: not a line of a measurement file ({})", path_, kSchema));
  }
  if (ftruncate(file_, static_cast<off_t>(start)) != 0 && errno != EINVAL) {
    throw InputError(fmt::format("{}: cannot be cut: {}", path_, std::strerror(errno)));
  }
}

void Journal::append(const std::string& line) {
  const off_t begin = lseek(file_, 0, SEEK_END);
  std::string_view rest;
  const std::string text = line + "\n";
  for (rest = text; !rest.empty();) {
    const ssize_t wrote = write(file_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int reason = errno;
      (void)ftruncate(file_, begin);  // no half of a line stays
      throw InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(reason)));
    }
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  // A pipe or a device cannot be synced, and need not be.
  if (fsync(file_) != 0 && errno != EINVAL && errno != EROFS) {
    throw InputError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
}

void Journal::add(const Work& work, const std::string& results) {
  const std::string key = work_text(work);
  ordered_json point = ordered_json::parse(key);
  point.update(ordered_json::parse(results));
  append(point.dump());
  done_.insert(key);
}

}  // namespace prequel
