#include "models/axes/schedules.hpp"

#include <fmt/format.h>

namespace prequel {

std::string stages_problem(Schedule schedule, std::int64_t pp, std::int64_t vpp) {
  const ScheduleTraits its = traits(schedule);
  if (its.interleaved && vpp < 2) {
    return fmt::format(
        "schedule {} needs at least two chunks a stage, but vpp is 1; 1f1b is the schedule without",
        name(schedule));
  }
  if (its.folded) {
    return vpp == 2 ? std::string()
                    : fmt::format("schedule {} has two chunks a stage, but vpp is {}; 2 would do",
                                  name(schedule), vpp);
  }
  if (!its.interleaved && vpp > 1) {
    return fmt::format("schedule {} has one chunk a stage, but vpp is {}; {} has more",
                       name(schedule), vpp, name(Schedule::interleaved));
  }
  if (its.mirrored && pp % 2 != 0) {
    return fmt::format("schedule {} needs an even number of stages, but pp is {}; {} would do",
                       name(schedule), pp, pp + 1);
  }
  return {};
}

std::string group_problem(Schedule schedule, std::int64_t pp, std::int64_t group) {
  if (!traits(schedule).interleaved || group == 0 || group >= pp) return {};
  return fmt::format(
      "schedule {} needs groups of pp micro batches or more, but they are of {}; {} would do",
      name(schedule), group, pp);
}

std::string text_of(const Rounds& rounds) {
  if (rounds.rest > 0) {
    return fmt::format("groups of {}, of which the last may have pp {} or more", rounds.unit,
                       rounds.rest);
  }
  if (rounds.unit == 1) return fmt::format("numbers of {} or more", rounds.least);
  const std::string unit = fmt::format("multiples of {}", rounds.unit);
  return rounds.least > rounds.unit ? fmt::format("{}, {} or more", unit, rounds.least) : unit;
}

}  // namespace prequel
