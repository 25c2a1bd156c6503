#include "hw/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "hw/base/built_in_files.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/file_stream.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

std::string system_message() {
  return std::generic_category().message(errno);
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }
  /// Closes it now; false if the system reports that a write failed.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// "16 MiB" where it is a whole number of MiB, else "200 MB".
std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMiB = 1u << 20;
  if (bytes >= kMiB && bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
  if (bytes >= 1'000'000) return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{} bytes", bytes);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("{}: {}", printable(path, 4096), why));
}

[[noreturn]] void refuse_write(const std::string& path) {
  refuse(path, "cannot be written: " + system_message());
}

/// Writes all of `content`; false with `errno` on failure.
bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

using Tell = std::function<void(const std::function<void(std::string_view)>&)>;

/// Writes all that `tell` tells; false with `errno` on failure.
bool write_told(int descriptor, const Tell& tell) {
  int error = 0;
  tell([&](std::string_view piece) {
    if (error == 0 && !write_all(descriptor, piece)) error = errno;
  });
  errno = error;
  return error == 0;
}

/// A device or pipe (`/dev/stdout`) is written to, never replaced.
void write_in_place(const std::string& path, const Tell& tell) {
  Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out.open() || !write_told(out.number(), tell) || !out.close()) refuse_write(path);
}

/// Where symbolic links lead to, so that a rename replaces the file and not the link.
std::string link_target(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

/// A new file beside `path` that no other thread or process writes to.
struct Temporary {
  std::string path;
  Descriptor out;
};

Temporary create_temporary(const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    std::string name = fmt::format("{}.{}-{}.tmp", path, ::getpid(), attempt);
    const int number = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number >= 0 || errno != EEXIST) return {std::move(name), Descriptor(number)};
  }
}

/// Returns the status of what was opened to be read. Throws InputError unless it was, and is no
/// directory.
struct stat status_of(const Descriptor& file, const std::string& path) {
  if (!file.open() && errno == ENOENT) refuse(path, "no such file");
  struct stat status {};
  if (!file.open() || ::fstat(file.number(), &status) != 0) {
    refuse(path, "cannot be read: " + system_message());
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "is a directory; expected a file");
  return status;
}

}  // namespace

bool is_folder(const std::string& path) noexcept {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_file(const std::string& path) noexcept {
  if (built_in_file(path)) return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> paths = built_in_files_of(folder);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored)) paths.push_back(entry.path().string());
  }
  return paths;
}

std::string read_file(const std::string& path, std::size_t limit) {
  if (const auto carried = built_in_file(path)) return std::string(*carried);
  // Not blocking, so that a pipe without a writer is refused rather than waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const struct stat status = status_of(file, path);
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > limit) {
    refuse(path, fmt::format("is {}; at most {}", size_text(size), size_text(limit)));
  }
  // The file may grow while it is read, and files of /proc say that they are empty.
  std::string content(size + 1, '\0');
  constexpr std::size_t kChunk = 64 << 10;
  for (std::size_t used = 0;;) {
    if (used == content.size()) content.resize(used + kChunk);
    const ssize_t got = ::read(file.number(), content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, "cannot be read: " + system_message());
    used += static_cast<std::size_t>(got);
    if (used > limit) refuse(path, fmt::format("is longer than {}", size_text(limit)));
    if (got == 0) {
      content.resize(used);
      return content;
    }
  }
}

void read_pieces(const std::string& path, const std::function<bool(std::string_view)>& take) {
  const Descriptor file(path == "-" ? ::dup(STDIN_FILENO)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  static_cast<void>(status_of(file, path));
  constexpr std::size_t kPiece = 1u << 20;
  const std::unique_ptr<char[]> piece(new char[kPiece]);  // pages that no byte comes to stay free
  while (true) {
    const ssize_t got = ::read(file.number(), piece.get(), kPiece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, "cannot be read: " + system_message());
    if (got == 0 || !take({piece.get(), static_cast<std::size_t>(got)})) return;
  }
}

void write_file(const std::string& path, std::string_view content) {
  write_pieces(path, [content](const auto& take) { take(content); });
}

void write_pieces(const std::string& path, const Tell& tell) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) refuse(path, "is a directory; expected a file");
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, tell);

  const std::string target = exists ? link_target(path) : path;
  auto [temporary, out] = create_temporary(target);
  if (!out.open()) refuse_write(path);
  const bool done = (!exists || ::fchmod(out.number(), status.st_mode & 07777) == 0) &&
                    write_told(out.number(), tell) && ::fsync(out.number()) == 0 && out.close() &&
                    ::rename(temporary.c_str(), target.c_str()) == 0;
  if (!done) {
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    refuse_write(path);
  }
}

}  // namespace prequel
