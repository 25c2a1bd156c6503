#pragma once

/// The reader that follows what each stream holds: bytes, or micro batches in flight.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/task.hpp"

namespace prequel {

/// A task takes (positive) or frees (negative) the amount of its price when its turn comes. As the
/// order on a stream is fixed, the peak of a stream is exact whatever the durations.
class Peak {
 public:
  struct Token {};

  /// `changes`, indexed by PriceId, must outlive the reader.
  Peak(std::span<const double> changes, std::size_t streams)
      : changes_(changes), held_(streams), peak_(streams), wave_peak_(streams) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label /*label*/, Tokens... /*after*/) {
    held_[stream] += changes_[price];
    wave_peak_[stream] = std::max(wave_peak_[stream], held_[stream]);
    return {};
  }

  [[nodiscard]] Token last(StreamId /*stream*/) const { return {}; }

  void begin_repeating() { before_.clear(); }

  /// Waves of the same tasks all add the same to what each stream holds, so that the last of them
  /// reaches highest, or this one.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> /*carried*/) {
    const bool repeats = !before_.empty();
    for (std::size_t stream = 0; stream < held_.size(); ++stream) {
      const double rise = repeats ? remaining * (held_[stream] - before_[stream]) : 0;
      held_[stream] += rise;
      peak_[stream] = std::max(peak_[stream], wave_peak_[stream] + std::max(0.0, rise));
    }
    before_ = held_;
    wave_peak_ = held_;
    return repeats ? remaining : 0;
  }

  /// Returns the amount that the stream holds after the tasks told so far.
  [[nodiscard]] double held(StreamId stream) const { return held_[stream]; }
  /// The most that it ever held.
  [[nodiscard]] double peak(StreamId stream) const {
    return std::max(peak_[stream], wave_peak_[stream]);
  }

 private:
  std::span<const double> changes_;
  std::vector<double> held_;
  std::vector<double> peak_;       // of all waves before this one
  std::vector<double> wave_peak_;  // since
  std::vector<double> before_;     // what was held before this wave, where it is one of many
};

}  // namespace prequel
