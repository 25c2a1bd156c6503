#pragma once

/// When things fail: events that come at random with a constant rate, and nodes some of which fail
/// more than others.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace prequel {

/// The time of what does not happen, s.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Something that happens once; what else is drawn about it is keyed by `identity`.
struct ChanceEvent {
  double time{};  ///< s
  std::uint64_t identity{};
  std::int64_t node{};  ///< the one that failed, where nodes are told apart
};

/// A Poisson process, told in layers of rates that double: the events of a rate are among those of
/// any higher one, at the same times and with the same identities. So a plan that fails more often
/// fails when the other does, and then some.
class PoissonProcess {
 public:
  /// `rate`: events a second, 0 or more.
  PoissonProcess(std::uint64_t key, double rate);

  /// Time of the next event, infinite where there is none.
  [[nodiscard]] double next() const { return next_[first_]; }
  /// Returns that event and goes on to the one after it.
  ChanceEvent pop();

 private:
  static constexpr std::size_t kMostLayers = 48;
  void draw(std::size_t layer);
  void find_first();

  std::size_t layers_{1}, first_{0};
  double kept_{0};  ///< of the candidates in the last layer
  std::array<double, kMostLayers> rate_{}, next_{};
  std::array<std::uint64_t, kMostLayers> stream_{};  ///< keys of their draws
  std::array<std::uint32_t, kMostLayers> index_{};
};

/// Nodes that fail at rates of their own: gamma distributed around the mean with `shape`, so that
/// few of them make most failures (lemons). A failed node is replaced by one drawn anew, by which a
/// long run gets better by itself.
class UnlikeNodes {
 public:
  /// `rate`: mean of a node, events a second; events after `end` are not told.
  UnlikeNodes(std::uint64_t key, std::int64_t nodes, double rate, double shape, double end);

  [[nodiscard]] double next() const;
  ChanceEvent pop();

 private:
  struct Clock {
    double time;
    std::int64_t node;
    std::uint64_t generation;
  };
  void add(std::int64_t node, std::uint64_t generation, double now);

  std::uint64_t key_;
  double rate_, shape_, end_;
  std::vector<Clock> clocks_;  ///< a heap, the earliest first
};

}  // namespace prequel
