#pragma once

/// The clock that also knows where the time of each stream goes.
///
/// Each price has a use: what the time of its tasks counts as. A stream's account adds up, use by
/// use, its tasks and what it waits for: a wait goes to the use of the communication that ended it,
/// as far back as that went on without a pause, and the rest of it to `kWaiting`. So the account of
/// a stream adds up to the end of its last task.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/repetition.hpp"
#include "sim/engine/task.hpp"

namespace prequel {

/// The use that a second counts as; whoever plays defines the uses.
using Use = std::uint8_t;

/// The use of a price's tasks; waits for those that communicate count the same.
struct PricedUse {
  Use use{};
  bool communicates{};
};

class AccountingClock {
 public:
  struct Token {
    double end{};    ///< s
    double begun{};  ///< when the communication began that went on until then, s
    PricedUse of{};
  };
  static constexpr Use kWaiting = 0;

  /// `durations` in s and their `uses` below `kinds`, both indexed by PriceId, must outlive the
  /// clock.
  AccountingClock(std::span<const double> durations, std::span<const PricedUse> uses,
                  std::size_t kinds, std::size_t streams)
      : durations_(durations),
        uses_(uses),
        kinds_(kinds),
        finish_(streams),
        busy_(streams),
        last_(streams),
        spent_(streams * kinds) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label /*label*/, Tokens... after) {
    const Token& before = last_[stream];
    Token held_by = before;
    ((held_by = after.end > held_by.end ? after : held_by), ...);
    const double duration = durations_[price];
    if (held_by.end > before.end) wait(stream, before.end, held_by);
    const PricedUse of = uses_[price];
    busy_[stream] += duration;
    spent_[stream * kinds_ + of.use] += duration;
    const bool goes_on = of.communicates && held_by.of.communicates && held_by.of.use == of.use;
    finish_[stream] = held_by.end + duration;
    return last_[stream] = {finish_[stream], goes_on ? held_by.begun : held_by.end, of};
  }

  [[nodiscard]] Token last(StreamId stream) const { return last_[stream]; }

  void begin_repeating();
  /// Once the pipeline is periodic, whole periods are skipped. One is told first, as what went on
  /// before the first of them can have begun before it was.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried);

  /// End of the last task on a stream, s.
  [[nodiscard]] double finish(StreamId stream) const { return finish_[stream]; }
  /// Sum of the durations on a stream, s.
  [[nodiscard]] double busy(StreamId stream) const { return busy_[stream]; }
  /// Returns a stream's seconds by use; they add up to its end.
  [[nodiscard]] std::span<const double> account(StreamId stream) const {
    return std::span(spent_).subspan(stream * kinds_, kinds_);
  }

 private:
  void wait(StreamId stream, double from, const Token& held_by);
  void take(const Wave& before, double times, std::span<Token> carried);
  void read(std::span<const Token> carried);

  std::span<const double> durations_;
  std::span<const PricedUse> uses_;
  std::size_t kinds_;
  std::vector<double> finish_;
  std::vector<double> busy_;
  std::vector<Token> last_;    // by stream
  std::vector<double> spent_;  // by stream, by use
  Repetition repetition_;
  Wave settled_;              // the first wave of which the next period is known
  std::uint32_t period_ = 0;  // in waves; 0: not known
  std::uint32_t waves_ = 0;   // since `settled_`
  std::vector<double> carried_ends_;
  std::vector<double> sums_;  // accounts, sums of durations, then beginnings
};

}  // namespace prequel
