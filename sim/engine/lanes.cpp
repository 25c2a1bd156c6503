#include "sim/engine/lanes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "hw/base/portable_math.hpp"

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

/// Returns the exponential share of each load, the rest being the mean, with which the busiest of
/// `lanes` gets `busiest` times the mean on average. The largest of n exponential draws is, over
/// their mean, 1 + 1/2 + … + 1/n on average.
double exponential_share(double busiest, std::uint32_t lanes) {
  double largest = 0;
  for (std::uint32_t lane = 1; lane <= lanes; ++lane) largest += 1.0 / lane;
  return busiest > 1 && lanes > 1 ? std::min(1.0, (busiest - 1) / (largest - 1)) : 0;
}

void meet(std::span<double> times, std::size_t group) {
  for (std::size_t first = 0; first < times.size(); first += group) {
    const std::span there = times.subspan(first, group);
    std::ranges::fill(there, *std::ranges::max_element(there));
  }
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
             std::uint32_t lanes, LaneGroups groups, Jitter jitter)
    : tasks_(tasks),
      slowness_(slowness),
      lanes_(lanes),
      groups_(groups),
      jitter_(jitter),
      unlike_(exponential_share(jitter.busiest, groups.wide)),
      loads_(groups.wide),
      last_(streams) {
  assert(groups.group > 0 && lanes % groups.group == 0);
  assert(groups.wide > 0 && lanes % groups.wide == 0);
  assert(slowness.size() == streams * lanes);
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
  switch (task.sync) {
    case LaneSync::group:
      if (const std::uint32_t parts = task.parts - task.wide_parts; parts > 0) {
        work_in_groups(times, slowness, task, parts, groups_.group);
      }
      if (task.wide_parts > 0) work_in_wide_groups(times, slowness, task);
      break;
    case LaneSync::wide:
      meet(times, groups_.wide);
      work_with_loads(times, slowness, task, task.duration, task.per_load);
      break;
    default: work_alone(times, slowness, task);
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
  const std::uint32_t group = groups_.group;
  for (std::uint32_t member = 0; member < group; ++member) {
    double all_there = 0;
    for (std::size_t lane = member; lane < lanes_; lane += group) {
      all_there = std::max(all_there, times[lane]);
    }
    for (std::size_t lane = member; lane < lanes_; lane += group) times[lane] = all_there;
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

void Lanes::work_in_groups(std::span<double> times, const double* slowness, const LaneTask& task,
                           std::uint32_t parts, std::uint32_t group) {
  const double duration = task.duration / task.parts;
  for (std::size_t first = 0; first < times.size(); first += group) {
    const std::span members = times.subspan(first, group);
    double done = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      done = std::max(done, members[i] + duration * slowness[first + i] * drawn(task));
    }
    // From here on the group starts each part together.
    for (std::uint32_t part = 1; part < parts; ++part) {
      double longest = 0;
      for (std::size_t i = 0; i < members.size(); ++i) {
        longest = std::max(longest, slowness[first + i] * drawn(task));
      }
      done += duration * longest;
    }
    std::ranges::fill(members, done);
  }
}

/// Before they exchange, lanes have waited for their group; then the wide one waits twice.
void Lanes::work_in_wide_groups(std::span<double> times, const double* slowness,
                                const LaneTask& task) {
  const auto [group, wide] = groups_;
  if (wide % group == 0 && (unlike_ == 0 || task.per_load == 0)) {
    return work_in_groups(times, slowness, task, task.wide_parts, wide);
  }
  const std::uint32_t pairs = task.wide_parts / 2;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    work_in_groups(times, slowness, task, 1, group);
    meet(times, wide);
    work_with_loads(times, slowness, task, task.duration / task.parts, task.per_load / pairs);
  }
}

void Lanes::work_with_loads(std::span<double> times, const double* slowness, const LaneTask& task,
                            double duration, double per_load) {
  for (std::size_t first = 0; first < times.size(); first += groups_.wide) {
    const std::span members = times.subspan(first, groups_.wide);
    draw_loads(loads_);
    double done = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double seconds = duration + per_load * (loads_[i] - 1);
      done = std::max(done, members[i] + seconds * slowness[first + i] * drawn(task));
    }
    std::ranges::fill(members, done);
  }
}

/// The loads have mean 1.
void Lanes::draw_loads(std::span<double> loads) {
  std::ranges::fill(loads, 1.0);
  if (unlike_ == 0) return;
  for (double& load : loads) {
    const std::uint64_t word = random_word(jitter_.seed, words_++);
    load = -portable::log((static_cast<double>(word >> 11U) + 0.5) * 0x1p-53);
  }
  const double mean =
      std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
  for (double& load : loads) load = 1 + unlike_ * (load / mean - 1);
}

}  // namespace prequel
