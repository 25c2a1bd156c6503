#include "sim/engine/repetition.hpp"

#include <algorithm>
#include <limits>

namespace prequel {

void Repetition::begin() {
  wave_ = 0;
  saved_.number = 0;
}

std::optional<Repetition::Found> Repetition::find(std::span<const double> finish,
                                                  std::span<const double> carried,
                                                  std::span<const double> sums) {
  ++wave_;
  const std::uint32_t since = wave_ - saved_.number;
  if (saved_.number > 0 && advances_together(saved_, finish, carried)) return Found{&saved_, since};
  if (saved_.number > 0 && since == 2 && advances_steadily(finish, carried)) {
    return Found{&next_, 1};
  }
  // Brent's cycle detection: the reference moves to waves 1, 2, 4, 8, …, so that any period is
  // found soon after the pipeline has settled, at one comparison a wave.
  if (saved_.number == 0 || wave_ == 2 * saved_.number) {
    save(finish, carried, sums, saved_);
  } else if (since == 1) {
    save(finish, carried, sums, next_);
  }
  return std::nullopt;
}

void Repetition::save(std::span<const double> finish, std::span<const double> carried,
                      std::span<const double> sums, Wave& wave) const {
  wave.number = wave_;
  wave.times.assign(finish.begin(), finish.end());
  wave.times.insert(wave.times.end(), carried.begin(), carried.end());
  wave.sums.assign(sums.begin(), sums.end());
}

bool Repetition::advances_together(const Wave& before, std::span<const double> finish,
                                   std::span<const double> carried) {
  double common = 0;
  double earliest = std::numeric_limits<double>::infinity();  // of what advances, as saved
  double rests_at = 0;                                        // the latest of what does not
  const auto agrees = [&](double now, double then) {
    if (now == then) {
      rests_at = std::max(rests_at, now);
      return true;
    }
    earliest = std::min(earliest, then);
    if (common == 0) common = now - then;
    return now - then == common;
  };
  const double* then = before.times.data();
  for (const double now : finish) {
    if (!agrees(now, *then++)) return false;
  }
  for (const double now : carried) {
    if (!agrees(now, *then++)) return false;
  }
  // A clock that rests earlier than all that advance can hold nothing up any more.
  return rests_at <= earliest && common >= 0;
}

bool Repetition::advances_steadily(std::span<const double> finish,
                                   std::span<const double> carried) const {
  struct Advance {
    double by, before, after;
  };
  std::vector<Advance> all;
  all.reserve(next_.times.size());
  for (std::size_t i = 0; i < next_.times.size(); ++i) {
    const double now = i < finish.size() ? finish[i] : carried[i - finish.size()];
    const double by = now - next_.times[i];
    if (by != next_.times[i] - saved_.times[i]) return false;
    all.push_back({by, next_.times[i], now});
  }
  // A clock that advanced twice by the same was held up by one that advances alike. It goes on so
  // unless a faster one overtakes that. A clock that is later before a wave than another is after
  // it does not hold the other up (A ≥ 0), so it never will, however fast.
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

void repeat(const Wave& before, double times, std::span<double> finish, std::span<double> carried,
            std::span<double> sums) {
  const double* then = before.times.data();
  for (double& time : finish) time += times * (time - *then++);
  for (double& time : carried) time += times * (time - *then++);
  then = before.sums.data();
  for (double& sum : sums) sum += times * (sum - *then++);
}

}  // namespace prequel
