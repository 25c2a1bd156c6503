#include "sim/engine/accounting_clock.hpp"

#include <algorithm>

namespace prequel {

void AccountingClock::wait(StreamId stream, double from, const Token& held_by) {
  double communicated = 0;
  if (held_by.of.communicates) communicated = held_by.end - std::max(from, held_by.begun);
  double* spent = &spent_[stream * kinds_];
  spent[held_by.of.use] += communicated;
  spent[kWaiting] += held_by.end - from - communicated;
}

void AccountingClock::begin_repeating() {
  repetition_.begin();
  period_ = 0;
}

std::uint32_t AccountingClock::skip(std::uint32_t remaining, std::span<Token> carried) {
  read(carried);
  if (period_ == 0) {
    const auto found = repetition_.find(finish_, carried_ends_, sums_);
    if (!found) return 0;
    period_ = found->waves;
    waves_ = 0;
    settled_.times.assign(finish_.begin(), finish_.end());
    settled_.times.insert(settled_.times.end(), carried_ends_.begin(), carried_ends_.end());
    settled_.sums = sums_;
    return 0;
  }
  if (++waves_ < period_) return 0;
  const std::uint32_t periods = waves_ == period_ ? remaining / period_ : 0;
  if (periods > 0) take(settled_, periods, carried);
  return periods * period_;
}

void AccountingClock::read(std::span<const Token> carried) {
  carried_ends_.clear();
  sums_.assign(spent_.begin(), spent_.end());
  sums_.insert(sums_.end(), busy_.begin(), busy_.end());
  for (const Token& token : last_) sums_.push_back(token.begun);
  for (const Token& token : carried) {
    carried_ends_.push_back(token.end);
    sums_.push_back(token.begun);
  }
}

void AccountingClock::take(const Wave& before, double times, std::span<Token> carried) {
  repeat(before, times, finish_, carried_ends_, sums_);
  auto sum = sums_.begin();
  for (double& spent : spent_) spent = *sum++;
  for (double& busy : busy_) busy = *sum++;
  for (std::size_t stream = 0; stream < last_.size(); ++stream) {
    last_[stream].end = finish_[stream];
    last_[stream].begun = *sum++;
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    carried[i].end = carried_ends_[i];
    carried[i].begun = *sum++;
  }
}

}  // namespace prequel
