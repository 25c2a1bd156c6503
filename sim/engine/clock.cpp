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
  const std::uint32_t since = wave_ - saved_.wave;
  if (saved_.wave > 0 && common_advance(carried) >= 0) {
    const std::uint32_t periods = remaining / since;
    repeat(saved_, periods, carried);
    return periods * since;
  }
  if (saved_.wave > 0 && since == 2 && advances_steadily(carried)) {
    repeat(next_, remaining, carried);
    return remaining;
  }
  // Brent's cycle detection: the reference moves to waves 1, 2, 4, 8, …, so that any period is
  // found soon after the pipeline has settled, at one comparison a wave.
  if (saved_.wave == 0 || wave_ == 2 * saved_.wave) {
    save(carried, saved_);
  } else if (since == 1) {
    save(carried, next_);
  }
  return 0;
}

void Clock::save(std::span<const Token> carried, Snapshot& snapshot) const {
  snapshot.wave = wave_;
  snapshot.times.assign(finish_.begin(), finish_.end());
  snapshot.times.insert(snapshot.times.end(), carried.begin(), carried.end());
  snapshot.busy = busy_;
}

void Clock::repeat(const Snapshot& before, double times, std::span<Token> carried) {
  const double* then = before.times.data();
  for (double& time : finish_) time += times * (time - *then++);
  for (double& time : carried) time += times * (time - *then++);
  for (std::size_t i = 0; i < busy_.size(); ++i) busy_[i] += times * (busy_[i] - before.busy[i]);
}

bool Clock::advances_steadily(std::span<const Token> carried) const {
  struct Advance {
    double by, before, after;
  };
  std::vector<Advance> all;
  all.reserve(next_.times.size());
  for (std::size_t i = 0; i < next_.times.size(); ++i) {
    const double now = i < finish_.size() ? finish_[i] : carried[i - finish_.size()];
    const double by = now - next_.times[i];
    if (by != next_.times[i] - saved_.times[i]) return false;
    all.push_back({by, next_.times[i], now});
  }
  // A wave is x' = A ⊗ x in max-plus algebra. What advanced twice by the same was held up by
  // something that advances alike, and goes on so unless something faster overtakes that. What is
  // later before a wave than another is after it does not hold the other up (A ≥ 0), so it never
  // will, however fast.
  std::ranges::sort(all, {}, &Advance::by);
  double slower = -1;  // the latest after the wave of all that advance by less
  double latest = -1;  // of all so far
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].by != all[i - 1].by) slower = latest;
    if (all[i].before <= slower) return false;
    latest = std::max(latest, all[i].after);
  }
  return true;
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
