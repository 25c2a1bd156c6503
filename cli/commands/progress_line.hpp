#pragma once

/// A line on stderr that says how far work is, where somebody watches.

#include <chrono>
#include <cstddef>
#include <string_view>

#include "hw/base/progress.hpp"

namespace prequel {

/// On a terminal alone; rewritten several times a second, and gone when the line goes.
class ProgressLine {
 public:
  /// Where it is to be quiet, nothing is said.
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// How many "plans" are done, of how many, and the time left.
  void show(std::string_view what, std::size_t done, std::size_t of);
  /// The same as somebody who hears of it.
  [[nodiscard]] Progress of(std::string_view what) {
    return [this, what](std::size_t done, std::size_t all) { show(what, done, all); };
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  Clock::time_point begin_ = Clock::now(), next_ = begin_;  ///< when it is written
};

}  // namespace prequel
