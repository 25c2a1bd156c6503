#pragma once

/// A reader in front of another one: the host launches each task before the device runs it.

#include <cstdint>
#include <span>

#include "sim/engine/task.hpp"

namespace prequel {

/// How a task is launched, which decides what it waits for.
enum class Launched : std::uint8_t {
  at_once,  ///< one kernel, which starts once it is launched
  by_parts  ///< many kernels, which follow one another as they are launched: a task starts once its
            ///< launch begins, and what is launched after it waits for all of that
};

/// Tells `reader` each task as two: its launch, in order on the host stream of its rank, and the
/// task itself, which also waits for that. The host runs ahead as far as it gets; the device waits
/// only where the host is behind.
template <Reader R>
class LaunchAhead {
 public:
  using Token = typename R::Token;

  /// `hosts`: by StreamId, the stream of the host that launches its tasks; one host may serve
  /// several. `launches`: by PriceId, the price of the task's launch. Both must outlive this.
  LaunchAhead(R& reader, std::span<const StreamId> hosts, std::span<const PriceId> launches,
              Launched launched = Launched::at_once)
      : reader_(reader), hosts_(hosts), launches_(launches), launched_(launched) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    const Token begun = reader_.last(hosts_[stream]);
    const Token ended = reader_.run(hosts_[stream], launches_[price], label);
    const Token launched = launched_ == Launched::at_once ? ended : begun;
    return reader_.run(stream, price, label, launched, after...);
  }

  [[nodiscard]] Token last(StreamId stream) const { return reader_.last(stream); }

  void begin_repeating() { reader_.begin_repeating(); }
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried) {
    return reader_.skip(remaining, carried);
  }

 private:
  R& reader_;
  std::span<const StreamId> hosts_;
  std::span<const PriceId> launches_;
  Launched launched_;
};

}  // namespace prequel
