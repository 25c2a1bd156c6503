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
      : changes_(changes), held_(streams), peak_(streams) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label /*label*/, Tokens... /*after*/) {
    held_[stream] += changes_[price];
    peak_[stream] = std::max(peak_[stream], held_[stream]);
    return {};
  }

  [[nodiscard]] Token last(StreamId /*stream*/) const { return {}; }

  void begin_repeating() { before_.clear(); }

  /// A wave that ends with what it began with will not raise a peak when repeated.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> /*carried*/) {
    if (held_ == before_) return remaining;
    before_ = held_;
    return 0;
  }

  /// What the stream holds after the tasks told so far.
  [[nodiscard]] double held(StreamId stream) const { return held_[stream]; }
  /// The most that it ever held.
  [[nodiscard]] double peak(StreamId stream) const { return peak_[stream]; }

 private:
  std::span<const double> changes_;
  std::vector<double> held_;
  std::vector<double> peak_;
  std::vector<double> before_;
};

}  // namespace prequel
