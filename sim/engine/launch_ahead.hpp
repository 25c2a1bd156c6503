#pragma once

/// A reader in front of another one: the host launches each task before the device runs it.

#include <cstdint>
#include <span>

#include "sim/engine/task.hpp"

namespace prequel {

/// Tells `reader` each task as two: its launch, in order on the host stream of its rank, and the
/// task itself, which also waits for that. The host runs ahead as far as it gets; the device waits
/// only where the host is behind.
template <class Reader>
class LaunchAhead {
 public:
  using Token = typename Reader::Token;

  /// `hosts`: by StreamId, the stream of the host that launches its tasks; one host may serve
  /// several. `launches`: by PriceId, the price of the task's launch. Both must outlive this.
  LaunchAhead(Reader& reader, std::span<const StreamId> hosts, std::span<const PriceId> launches)
      : reader_(reader), hosts_(hosts), launches_(launches) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    const Token launched = reader_.run(hosts_[stream], launches_[price], label);
    return reader_.run(stream, price, label, launched, after...);
  }

  [[nodiscard]] Token last(StreamId stream) const { return reader_.last(stream); }

  void begin_repeating() { reader_.begin_repeating(); }
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried) {
    return reader_.skip(remaining, carried);
  }

 private:
  Reader& reader_;
  std::span<const StreamId> hosts_;
  std::span<const PriceId> launches_;
};

}  // namespace prequel
