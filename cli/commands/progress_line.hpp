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
  /// Says the best time so far, in seconds an iteration, from now on.
  void note_best(double seconds) { best_ = seconds; }
  /// The same as somebody who hears of it.
  [[nodiscard]] Progress of(std::string_view what) {
    return [this, what](std::size_t done, std::size_t all) { show(what, done, all); };
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  Clock::time_point begin_ = Clock::now(), next_ = begin_;  ///< when it is written
  std::string_view what_;
  Clock::time_point since_ = begin_;  ///< that such work is done
  std::size_t done_before_{};
  double best_{};  ///< s; 0: none yet
};

}  // namespace prequel
