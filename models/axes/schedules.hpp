#pragma once

/// Pipeline schedules: their names, and what each asks of a plan.

#include <algorithm>
#include <cstdint>
#include <string>

#include "hw/base/words.hpp"

namespace prequel {

enum class Schedule : std::uint8_t {
  gpipe,
  one_f_one_b,
  interleaved,
  zb_h1,
  zb_h2,
  dualpipe,
  dualpipe_v,
  zb_v,
  v_half,
  v_min,
  zb_2p,
};
template <>
inline constexpr std::array<std::string_view, 11> kWordsOf<Schedule>{
    "gpipe",      "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "dualpipe",
    "dualpipe-v", "zb-v", "v-half",           "v-min", "zb-2p"};

/// The traits of a schedule for all but those who emit it.
struct ScheduleTraits {
  bool interleaved{};      ///< vpp chunks of the model a stage, two or more; the others have one
  bool mirrored{};         ///< stage s holds block s and block p - 1 - s: each is there twice
  bool folded{};           ///< vpp 2: stage s holds blocks s and 2p - 1 - s, as a V
  bool pairs{};            ///< runs forwards and backwards that overlap, and splits some of these
  bool splits_backward{};  ///< each into passes for the inputs' gradients and for the weights'
};

constexpr ScheduleTraits traits(Schedule schedule) {
  switch (schedule) {
    case Schedule::gpipe:
    case Schedule::one_f_one_b: return {};
    case Schedule::interleaved: return {.interleaved = true};
    case Schedule::zb_h1:
    case Schedule::zb_h2:
    case Schedule::zb_2p: return {.splits_backward = true};
    case Schedule::dualpipe: return {.mirrored = true, .pairs = true};
    case Schedule::dualpipe_v: return {.folded = true, .pairs = true};
    case Schedule::zb_v:
    case Schedule::v_half:
    case Schedule::v_min: return {.folded = true, .splits_backward = true};
  }
  return {};
}

/// Why the schedule cannot run `pp` stages with `vpp` chunks each, and what would do; empty if it
/// can.
std::string stages_problem(Schedule schedule, std::int64_t pp, std::int64_t vpp);

/// How many micro batches a schedule takes: multiples of `unit`, at least `least`. Where there is a
/// `rest`, so many or more may be left for the last group.
struct Rounds {
  std::int64_t unit{1}, least{1}, rest{};

  [[nodiscard]] bool take(std::int64_t count) const { return next(count) == count; }
  /// The first count that it takes from `count` on.
  [[nodiscard]] std::int64_t next(std::int64_t count) const {
    const std::int64_t left = count % unit;
    const std::int64_t more = left == 0 ? 0 : (rest > 0 ? std::max(left, rest) : unit) - left;
    return std::max(count + more, least);
  }
};

/// "multiples of 2, 8 or more".
std::string text_of(const Rounds& rounds);

/// Why micro batches cannot go round `pp` stages in groups of `group`, and what would do; empty if
/// they can.
std::string group_problem(Schedule schedule, std::int64_t pp, std::int64_t group);

/// Interleaved 1F1B: groups of as many as stages (Narayanan et al. 2021, section 2.2) or of more,
/// of which the last still fills the pipeline (Megatron-Core). DualPipe: as many from each end; it,
/// DualPipe-V and ZB-2p need enough to fill the pipeline.
constexpr Rounds rounds(Schedule schedule, std::int64_t pp, std::int64_t group = 0) {
  const ScheduleTraits its = traits(schedule);
  if (its.interleaved && group > 0) return {group, group, pp};
  if (its.interleaved) return {pp, pp};
  if (its.pairs) return {its.mirrored ? 2 : 1, 2 * pp};
  if (schedule == Schedule::zb_2p) return {1, 2 * pp - 1};
  return {};
}

}  // namespace prequel
