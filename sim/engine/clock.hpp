#pragma once

/// The reader that knows when each task ends and stores nothing else.
///
/// finish = max(end of the task before it on its stream, ends of what it waits for) + duration.
/// Exact whenever durations do not depend on what else runs.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/repetition.hpp"
#include "sim/engine/task.hpp"

namespace prequel {

/// Rounds durations (s) to multiples of one power of two, so fine that the rounding is that of a
/// double, and so coarse that every sum of them up to `runs` times their total is exact. Then a
/// repeating pipeline repeats to the last bit, and readers agree whatever their order of adding.
std::vector<double> exact_durations(std::span<const double> durations, double runs);

class Clock {
 public:
  using Token = double;  ///< the time at which the task ends, s

  /// `durations` in s, indexed by PriceId, must outlive the clock.
  Clock(std::span<const double> durations, std::size_t streams)
      : durations_(durations), finish_(streams), busy_(streams) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label /*label*/, Tokens... after) {
    const double duration = durations_[price];
    double start = finish_[stream];
    ((start = std::max(start, after)), ...);
    busy_[stream] += duration;
    return finish_[stream] = start + duration;
  }

  [[nodiscard]] Token last(StreamId stream) const { return finish_[stream]; }

  void begin_repeating() { repetition_.begin(); }

  /// Once the pipeline is periodic, whole periods are skipped.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried);

  /// End of the last task on a stream, s.
  [[nodiscard]] double finish(StreamId stream) const { return finish_[stream]; }
  /// Sum of the durations on a stream, s.
  [[nodiscard]] double busy(StreamId stream) const { return busy_[stream]; }
  /// End of the last task of all, s.
  [[nodiscard]] double end() const { return *std::max_element(finish_.begin(), finish_.end()); }

 private:
  std::span<const double> durations_;
  std::vector<double> finish_;
  std::vector<double> busy_;
  Repetition repetition_;
};

}  // namespace prequel
