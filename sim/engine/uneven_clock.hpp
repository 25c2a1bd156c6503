#pragma once

/// The clock where a task may take another time in each micro batch.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/task.hpp"

namespace prequel {

class UnevenClock {
 public:
  using Token = double;  ///< the time at which the task ends, s

  /// `durations` in s by PriceId; `by_index` the same for each index of labels, of the prices that
  /// `differs` marks. All must outlive the clock.
  UnevenClock(std::span<const double> durations, std::span<const std::vector<double>> by_index,
              const std::vector<bool>& differs, std::size_t streams)
      : durations_(durations), by_index_(by_index), differs_(differs), finish_(streams) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    const double duration = differs_[price] && label.index < by_index_.size()
                                ? by_index_[label.index][price]
                                : durations_[price];
    double start = finish_[stream];
    ((start = std::max(start, after)), ...);
    return finish_[stream] = start + duration;
  }

  [[nodiscard]] Token last(StreamId stream) const { return finish_[stream]; }

  void begin_repeating() {}
  /// No wave is like the one before.
  std::uint32_t skip(std::uint32_t /*remaining*/, std::span<Token> /*carried*/) { return 0; }

  /// End of the last task of all, s.
  [[nodiscard]] double end() const { return *std::max_element(finish_.begin(), finish_.end()); }

 private:
  std::span<const double> durations_;
  std::span<const std::vector<double>> by_index_;
  const std::vector<bool>& differs_;
  std::vector<double> finish_;
};

}  // namespace prequel
