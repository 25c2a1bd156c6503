#pragma once

/// Memory that ends where no memory is: who reads or writes behind it is killed at once, and what
/// is written before it shows.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace prequel {

class GuardedArray {
 public:
  explicit GuardedArray(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    room_ = (bytes + kBefore + page - 1) / page * page + page;
    void* const memory =
        mmap(nullptr, room_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<unsigned char*>(memory);
    mprotect(begin_ + room_ - page, page, PROT_NONE);
    data_ = begin_ + room_ - page - bytes;
    std::memset(begin_, kMark, static_cast<std::size_t>(data_ - begin_));
  }
  ~GuardedArray() { munmap(begin_, room_); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  template <typename Value>
  [[nodiscard]] Value* as() const {
    return static_cast<Value*>(static_cast<void*>(data_));
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Nothing was written before it.
  [[nodiscard]] bool is_whole() const {
    for (const unsigned char* at = begin_; at < data_; ++at) {
      if (*at != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kBefore = 256;
  static constexpr unsigned char kMark = 0xa5;

  std::size_t bytes_;
  std::size_t room_{};
  unsigned char* begin_{};
  unsigned char* data_{};
};

}  // namespace prequel
