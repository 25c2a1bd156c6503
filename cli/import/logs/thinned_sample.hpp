#pragma once

/// A sample of bounded size of a stream of numbers of any length.

#include <cstddef>
#include <vector>

#include "calibrate/statistics/error_statistics.hpp"

namespace prequel {

/// Keeps every value until `kMost` are there, from then on every second, every fourth, …: quantiles
/// are exact for short streams and the same each time for long ones.
class ThinnedSample {
 public:
  static constexpr std::size_t kMost = 1024;

  void add(double value) {
    if (seen_++ % stride_ != 0) return;
    if (values_.size() == kMost) {
      for (std::size_t i = 0; 2 * i < kMost; ++i) values_[i] = values_[2 * i];
      values_.resize(kMost / 2);
      stride_ *= 2;
    }
    values_.push_back(value);
  }
  [[nodiscard]] std::size_t seen() const { return seen_; }
  [[nodiscard]] double at(double fraction) const { return quantile(values_, fraction); }

 private:
  std::vector<double> values_;
  std::size_t seen_{0};
  std::size_t stride_{1};
};

}  // namespace prequel
