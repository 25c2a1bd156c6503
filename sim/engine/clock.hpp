#pragma once

/// The reader that knows when each task ends and stores nothing else.
///
/// finish = max(end of the task before it on its stream, ends of what it waits for) + duration.
/// Exact whenever durations do not depend on what else runs.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

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

  void begin_repeating();

  /// Max-plus recursions become periodic: once every stream and every carried token has advanced by
  /// one common time over some waves, they do so for ever. Then whole periods are skipped. Where
  /// nothing holds the first streams back (GPipe), each soon advances by a time of its own, wave by
  /// wave; then all waves are.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried);

  /// End of the last task on a stream, s.
  [[nodiscard]] double finish(StreamId stream) const { return finish_[stream]; }
  /// Sum of the durations on a stream, s.
  [[nodiscard]] double busy(StreamId stream) const { return busy_[stream]; }
  /// End of the last task of all, s.
  [[nodiscard]] double end() const { return *std::max_element(finish_.begin(), finish_.end()); }

 private:
  /// Finish times and carried tokens, and the sums of durations, as they were after `wave`.
  struct Snapshot {
    std::uint32_t wave = 0;
    std::vector<double> times;
    std::vector<double> busy;
  };
  void save(std::span<const Token> carried, Snapshot& snapshot) const;
  /// The time by which everything has advanced since `saved_`, or a negative number.
  [[nodiscard]] double common_advance(std::span<const Token> carried) const;
  /// Whether everything advanced from `next_` on as it did from `saved_` to `next_`, and will.
  [[nodiscard]] bool advances_steadily(std::span<const Token> carried) const;
  /// Adds so many times what has changed since `before`.
  void repeat(const Snapshot& before, double times, std::span<Token> carried);

  std::span<const double> durations_;
  std::vector<double> finish_;
  std::vector<double> busy_;
  Snapshot saved_;
  Snapshot next_;  // one wave later
  std::uint32_t wave_ = 0;
};

}  // namespace prequel
