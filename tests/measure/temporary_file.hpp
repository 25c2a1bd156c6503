#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace prequel {

/// A path of its own in the system's folder for temporary files; what is there goes at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               ("prequel_" + std::to_string(getpid()) + "_" + name))
                  .string()) {
    std::filesystem::remove(path_);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }

 private:
  std::string path_;
};

}  // namespace prequel
