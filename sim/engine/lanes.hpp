#pragma once

/// The reader that follows every rank: a stream is many lanes, each with its own speed.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/task.hpp"

namespace prequel {

/// Whom a lane waits for when it has done its part of a task.
enum class LaneSync : std::uint8_t {
  none,    ///< nobody: lane r of the next task needs lane r of this one alone
  group,   ///< its group of neighbouring lanes, as in tensor parallelism
  wide,    ///< before it starts, too: its wide group of them, as in expert parallelism
  across,  ///< before it starts: the same lane of all groups, as in data parallelism
};

/// The work of each lane for a price.
struct LaneTask {
  double duration{};        ///< s, of a lane at full speed
  std::uint32_t parts = 1;  ///< equal parts; jitter is drawn for each, and `group` waits after each
  LaneSync sync{};
  bool jitters = false;
  std::uint32_t kernels = 4;  ///< of each part; each jitters by itself
  /// Parts, in pairs, that the wide group waits after. In the second of a pair the lane works on
  /// its load.
  std::uint32_t wide_parts = 0;
  double per_load{};  ///< s that a lane takes more for each time the mean load beyond it
};

/// Jitter of the parts of tasks, drawn for each lane and kernel: `sigma` is the relative standard
/// deviation of a part, that of one of its n kernels √n times as much.
struct Jitter {
  double sigma{};
  std::uint64_t seed{};
  /// Loads of the lanes of a wide group, over their mean: the busiest one's, expected. They are
  /// drawn anew each time; 1: all are alike.
  double busiest = 1;
};

/// Lanes that are next to one another.
struct LaneGroups {
  std::uint32_t group = 1;
  std::uint32_t wide = 1;
};

/// A draw of mean 0 and standard deviation 1 that depends on its arguments alone, not on who draws
/// before: the sum of a uniform draw for each of `kernels`, scaled (Irwin–Hall), and so never
/// beyond ±√(3 kernels). Takes `draw_words(kernels)` steps of the counter.
double normal_draw(std::uint64_t seed, std::uint64_t counter, std::uint32_t kernels = 4);

/// Random words of 64 bits, of which each kernel takes 16.
constexpr std::uint32_t draw_words(std::uint32_t kernels) {
  return (kernels + 3) / 4;
}

class Lanes {
 public:
  /// Lane `i` of the task ends at times[offset + i].
  struct Token {
    std::size_t offset = kNothing;
  };

  /// `tasks`, indexed by PriceId, and `slowness` must outlive the reader. Every stream has `lanes`
  /// lanes in groups that divide them; lane i of stream s takes slowness[s * lanes + i] times its
  /// duration.
  Lanes(std::span<const LaneTask> tasks, std::span<const double> slowness, std::size_t streams,
        std::uint32_t lanes, LaneGroups groups, Jitter jitter);

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label /*label*/, Tokens... after) {
    const std::array<Token, 1 + sizeof...(after)> before{last_[stream], after...};
    return last_[stream] = run_lanes(stream, tasks_[price], before);
  }

  [[nodiscard]] Token last(StreamId stream) const { return last_[stream]; }

  void begin_repeating() {}
  /// Skips nothing, as jitter never repeats, but forgets what no later task waits for.
  std::uint32_t skip(std::uint32_t remaining, std::span<Token> carried);

  /// Forgets all tasks and keeps the memory.
  void restart(std::uint64_t seed);

  /// When each lane of the stream ends, s; empty before its first task.
  [[nodiscard]] std::span<const double> finish(StreamId stream) const;
  /// End of the last lane of all, s.
  [[nodiscard]] double end() const;

 private:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  void keep(Token& token);
  Token run_lanes(StreamId stream, const LaneTask& task, std::span<const Token> before);
  void start(std::span<double> times, std::span<const Token> before) const;
  void wait_across(std::span<double> times) const;
  void work_alone(std::span<double> times, const double* slowness, const LaneTask& task);
  void work_in_groups(std::span<double> times, const double* slowness, const LaneTask& task,
                      std::uint32_t parts, std::uint32_t group);
  void work_in_wide_groups(std::span<double> times, const double* slowness, const LaneTask& task);
  void work_with_loads(std::span<double> times, const double* slowness, const LaneTask& task,
                       double duration, double per_load);
  void draw_loads(std::span<double> loads);
  [[nodiscard]] double drawn(const LaneTask& task);

  std::span<const LaneTask> tasks_;
  std::span<const double> slowness_;
  std::uint32_t lanes_;
  LaneGroups groups_;
  Jitter jitter_;
  double unlike_;              // how much of a load is drawn: exponentially
  std::uint64_t words_ = 0;    // random ones, drawn so far
  std::vector<double> times_;  // of tasks not yet forgotten, `lanes_` each
  std::vector<double> kept_;
  std::vector<double> loads_;  // of a wide group
  std::vector<Token> last_;    // by stream
};

}  // namespace prequel
