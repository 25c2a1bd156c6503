#include "sim/engine/clock.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace prequel {

std::vector<double> exact_durations(std::span<const double> durations, double runs) {
  std::vector<double> rounded(durations.begin(), durations.end());
  const double bound = runs * std::accumulate(durations.begin(), durations.end(), 0.0);
  if (!(bound > 0) || !std::isfinite(bound)) return rounded;
  int exponent = 0;
  std::frexp(bound, &exponent);  // bound < 2^exponent
  // Doubles near 1.5 * 2^exponent are 2^(exponent - 52) apart: adding that rounds to the grid.
  const double shift = std::ldexp(1.5, exponent);
  for (double& duration : rounded) duration = (duration + shift) - shift;
  return rounded;
}

void Clock::begin_repeating() {
  wave_ = 0;
  saved_.wave = 0;
}

std::uint32_t Clock::skip(std::uint32_t remaining, std::span<Token> carried) {
  ++wave_;
  const double advance = saved_.wave == 0 ? -1 : common_advance(carried);
  if (advance < 0) {
    // Brent's cycle detection: the reference moves to waves 1, 2, 4, 8, …, so that any period is
    // found soon after the pipeline has settled, at one comparison a wave.
    if (saved_.wave == 0 || wave_ == 2 * saved_.wave) save(carried);
    return 0;
  }
  const std::uint32_t period = wave_ - saved_.wave;
  const std::uint32_t periods = remaining / period;
  const double jump = periods * advance;
  const double* before = saved_.times.data();
  for (double& time : finish_) time += time == *before++ ? 0 : jump;
  for (double& time : carried) time += time == *before++ ? 0 : jump;
  for (std::size_t i = 0; i < busy_.size(); ++i) busy_[i] += periods * (busy_[i] - saved_.busy[i]);
  return periods * period;
}

void Clock::save(std::span<const Token> carried) {
  saved_.wave = wave_;
  saved_.times.assign(finish_.begin(), finish_.end());
  saved_.times.insert(saved_.times.end(), carried.begin(), carried.end());
  saved_.busy = busy_;
}

double Clock::common_advance(std::span<const Token> carried) const {
  double common = 0;
  double earliest = std::numeric_limits<double>::infinity();  // of what advances, as saved
  double rests_at = 0;                                        // the latest of what does not
  const auto agrees = [&](double now, double before) {
    if (now == before) {
      rests_at = std::max(rests_at, now);
      return true;
    }
    earliest = std::min(earliest, before);
    if (common == 0) common = now - before;
    return now - before == common;
  };
  const double* before = saved_.times.data();
  for (const double now : finish_) {
    if (!agrees(now, *before++)) return -1;
  }
  for (const double now : carried) {
    if (!agrees(now, *before++)) return -1;
  }
  // What rests before all that advances can hold up nothing any more.
  return rests_at <= earliest ? common : -1;
}

}  // namespace prequel
