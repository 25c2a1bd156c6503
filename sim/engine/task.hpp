#pragma once

/// The vocabulary of the engine: tasks with a price, on in-order streams.
///
/// A schedule is a function template that tells a *reader* its tasks one by one, each after
/// everything it waits for. The reader decides the result: the finish time (Clock), a stored graph
/// (GraphBuilder), the most that is held (Peak).
///
/// The engine knows tasks, streams and durations, and nothing about transformers.

#include <concepts>
#include <cstdint>
#include <span>

namespace prequel {

/// An in-order queue of tasks: a compute, communication, copy or host stream of one rank.
using StreamId = std::uint32_t;

/// Index into the table of numbers that a reader was given: durations, or bytes taken and freed.
using PriceId = std::uint32_t;

/// Position of a task in the order of telling.
using TaskId = std::uint32_t;

/// A task's name in the schedule's own terms. The engine passes it on unread; a schedule with wider
/// numbers has to refuse them.
struct Label {
  std::uint8_t kind{};
  std::uint8_t chunk{};
  std::uint16_t stage{};
  std::uint32_t index{};  ///< micro batch, layer or bucket

  bool operator==(const Label&) const = default;
};
static_assert(sizeof(Label) == 8);

/// Whom a schedule can be told to. `Token` is what a later task waits for, Token{} nothing.
///
/// run: a task, in order on its stream and after all tokens given.
/// last: the task told last on a stream.
/// begin_repeating: from here on, waves of the same tasks follow.
/// skip: at the end of a wave, how many of so many remaining ones need not be told, as nothing new
/// would come out. Later waves use the tokens carried, which are then those after the last of them.
template <class R>
concept Reader = std::default_initializable<typename R::Token> &&
    requires(R reader, StreamId stream, PriceId price, Label label, typename R::Token after,
             std::uint32_t remaining, std::span<typename R::Token> carried) {
  { reader.run(stream, price, label) } -> std::same_as<typename R::Token>;
  { reader.run(stream, price, label, after, after) } -> std::same_as<typename R::Token>;
  { reader.last(stream) } -> std::same_as<typename R::Token>;
  reader.begin_repeating();
  { reader.skip(remaining, carried) } -> std::same_as<std::uint32_t>;
};

}  // namespace prequel
