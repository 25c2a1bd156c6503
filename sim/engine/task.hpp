#pragma once

/// The vocabulary of the engine: tasks with a price, on in-order streams.
///
/// A schedule is a function template that tells a *reader* its tasks one by one, each after
/// everything it waits for. What the reader does with them decides what comes out: the finish time
/// (Clock), a stored graph (GraphBuilder), what is held at the worst moment (Peak). A reader has
///
///     using Token                            what a later task waits for; Token{} is nothing
///     Token run(stream, price, label, Token... after)
///                                            a task: in order on its stream, after all of `after`
///     Token last(stream)                     the task told last on that stream
///     void begin_repeating()                 from here on, waves of the same tasks follow
///     uint32_t skip(remaining, carried)      at the end of a wave: how many of the `remaining`
///     like
///                                            waves need not be told, as nothing new would come
///                                            out; `carried` are the tokens that later waves use
///
/// The engine knows tasks, streams and durations, and nothing about transformers.

#include <cstdint>

namespace prequel {

/// An in-order queue of tasks: a compute, communication, copy or host stream of one rank.
using StreamId = std::uint32_t;

/// Index into the table of numbers that a reader was given: durations, or bytes taken and freed.
using PriceId = std::uint32_t;

/// Position of a task in the order of telling.
using TaskId = std::uint32_t;

/// What a task is, in the schedule's own terms. The engine passes it on unread.
struct Label {
  std::uint8_t kind{};
  std::uint8_t chunk{};
  std::uint16_t stage{};
  std::uint32_t index{};  ///< micro batch, layer or bucket

  bool operator==(const Label&) const = default;
};
static_assert(sizeof(Label) == 8);

}  // namespace prequel
