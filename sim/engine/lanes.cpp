#include "sim/engine/lanes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace prequel {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"): any
/// element of the sequence at once.
std::uint64_t random_word(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t bits = seed * 0xd1342543de82ef95U + (counter + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// Adds the four 16-bit parts of a word to two sums in the halves of another.
std::uint64_t add_parts(std::uint64_t sums, std::uint64_t word) {
  constexpr std::uint64_t kLower = 0x0000ffff0000ffffU;
  return sums + (word & kLower) + (word >> 16U & kLower);
}

}  // namespace

double normal_draw(std::uint64_t seed, std::uint64_t counter, std::uint32_t kernels) {
  std::uint64_t sums = 0;
  for (std::uint32_t word = 0; word < kernels / 4; ++word) {
    sums = add_parts(sums, random_word(seed, counter++));
  }
  if (const std::uint32_t rest = kernels % 4; rest > 0) {
    sums = add_parts(sums, random_word(seed, counter) & ((std::uint64_t{1} << 16U * rest) - 1));
  }
  const auto sum = static_cast<std::int64_t>((sums & 0xffffffffU) + (sums >> 32U));
  // n uniform integers below r have mean n (r - 1) / 2 and variance near n r² / 12.
  constexpr double kRange = 0x1p16;
  return (static_cast<double>(sum) - kernels * ((kRange - 1) / 2)) *
         (std::sqrt(12.0 / kernels) / kRange);
}

Lanes::Lanes(std::span<const LaneTask> tasks, std::span<const double> slowness, std::size_t streams,
             std::uint32_t lanes, std::uint32_t group, Jitter jitter)
    : tasks_(tasks),
      slowness_(slowness),
      lanes_(lanes),
      group_(group),
      jitter_(jitter),
      last_(streams) {
  assert(group > 0 && lanes % group == 0 && slowness.size() == streams * lanes);
}

void Lanes::restart(std::uint64_t seed) {
  jitter_.seed = seed;
  words_ = 0;
  times_.clear();
  std::ranges::fill(last_, Token{});
}

std::uint32_t Lanes::skip(std::uint32_t /*remaining*/, std::span<Token> carried) {
  constexpr std::size_t kMuch = std::size_t{1} << 17U;  // 1 MiB: stays in the cache
  if (times_.size() < std::max(kMuch, 4 * lanes_ * (last_.size() + carried.size()))) return 0;
  kept_.clear();
  for (Token& token : last_) keep(token);
  for (Token& token : carried) keep(token);
  times_.swap(kept_);
  return 0;
}

void Lanes::keep(Token& token) {
  if (token.offset == kNothing) return;
  const auto from = times_.begin() + static_cast<std::ptrdiff_t>(token.offset);
  token.offset = kept_.size();
  kept_.insert(kept_.end(), from, from + lanes_);
}

std::span<const double> Lanes::finish(StreamId stream) const {
  const Token last = last_[stream];
  if (last.offset == kNothing) return {};
  return std::span(times_).subspan(last.offset, lanes_);
}

double Lanes::end() const {
  double end = 0;
  for (StreamId stream = 0; stream < last_.size(); ++stream) {
    for (const double time : finish(stream)) end = std::max(end, time);
  }
  return end;
}

Lanes::Token Lanes::run_lanes(StreamId stream, const LaneTask& task,
                              std::span<const Token> before) {
  const Token token{times_.size()};
  times_.resize(times_.size() + lanes_);
  const std::span times = std::span(times_).subspan(token.offset);
  start(times, before);
  if (task.sync == LaneSync::across) wait_across(times);
  const double* slowness = slowness_.data() + std::size_t{stream} * lanes_;
  if (task.sync == LaneSync::group) {
    work_in_groups(times, slowness, task);
  } else {
    work_alone(times, slowness, task);
  }
  return token;
}

void Lanes::start(std::span<double> times, std::span<const Token> before) const {
  for (const Token token : before) {
    if (token.offset == kNothing) continue;
    const double* ends = times_.data() + token.offset;
    for (std::size_t lane = 0; lane < times.size(); ++lane) {
      times[lane] = std::max(times[lane], ends[lane]);
    }
  }
}

void Lanes::wait_across(std::span<double> times) const {
  for (std::uint32_t member = 0; member < group_; ++member) {
    double all_there = 0;
    for (std::size_t lane = member; lane < lanes_; lane += group_) {
      all_there = std::max(all_there, times[lane]);
    }
    for (std::size_t lane = member; lane < lanes_; lane += group_) times[lane] = all_there;
  }
}

double Lanes::drawn(const LaneTask& task) {
  if (!task.jitters || jitter_.sigma == 0) return 1;
  const double draw = normal_draw(jitter_.seed, words_, task.kernels);
  words_ += draw_words(task.kernels);
  return std::max(0.0, 1 + jitter_.sigma * draw);
}

void Lanes::work_alone(std::span<double> times, const double* slowness, const LaneTask& task) {
  const double duration = task.duration / task.parts;
  for (std::size_t lane = 0; lane < times.size(); ++lane) {
    for (std::uint32_t part = 0; part < task.parts; ++part) {
      times[lane] += duration * slowness[lane] * drawn(task);
    }
  }
}

void Lanes::work_in_groups(std::span<double> times, const double* slowness, const LaneTask& task) {
  const double duration = task.duration / task.parts;
  for (std::size_t first = 0; first < times.size(); first += group_) {
    const std::span group = times.subspan(first, group_);
    double done = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      done = std::max(done, group[i] + duration * slowness[first + i] * drawn(task));
    }
    // From here on the group starts each part together.
    for (std::uint32_t part = 1; part < task.parts; ++part) {
      double longest = 0;
      for (std::size_t i = 0; i < group.size(); ++i) {
        longest = std::max(longest, slowness[first + i] * drawn(task));
      }
      done += duration * longest;
    }
    std::ranges::fill(group, done);
  }
}

}  // namespace prequel
