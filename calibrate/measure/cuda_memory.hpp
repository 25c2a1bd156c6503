#pragma once

/// Operands that come from memory, not from the cache.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_device.hpp"
#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/cuda_or_hip.hpp"

namespace prequel {

/// Sets of arrays, each filled with random numbers, of together at least twice the last-level
/// cache: who goes through them in turn finds every set out of the cache.
class RotatingArrays {
 public:
  /// `sizes` in bytes of the arrays of one set.
  RotatingArrays(const std::vector<std::size_t>& sizes, RandomNumbers numbers, cudaStream_t stream)
      : offsets_(sizes.size()), sets_(1), arena_(arena_bytes(sizes)) {
    check_cuda(fill_random(arena_.data(), sets_ * set_bytes_, numbers, stream), "fill_random");
  }

  /// How many sets there are, one at least.
  [[nodiscard]] std::size_t sets() const { return sets_; }

  /// The arrays of the next set.
  const std::vector<void*>& next() {
    char* const set = static_cast<char*>(arena_.data()) + set_bytes_ * (turn_++ % sets_);
    arrays_.clear();
    for (const std::size_t offset : offsets_) arrays_.push_back(set + offset);
    return arrays_;
  }

 private:
  static constexpr std::size_t kAlignment = 256;  ///< of cudaMalloc

  std::size_t arena_bytes(const std::vector<std::size_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      offsets_[i] = set_bytes_;
      set_bytes_ += (sizes[i] + kAlignment - 1) / kAlignment * kAlignment;
    }
    const std::size_t wanted = 2 * cache_bytes_of(current_device());
    sets_ = std::max<std::size_t>(1, (wanted + set_bytes_ - 1) / set_bytes_);
    return sets_ * set_bytes_;
  }

  // In this order: the arena's size follows from the others.
  std::vector<std::size_t> offsets_;
  std::size_t set_bytes_{};
  std::size_t sets_;
  DeviceBuffer arena_;
  std::vector<void*> arrays_;
  std::size_t turn_{};
};

}  // namespace prequel
