#pragma once

/// A reservation played from the first hour to the last step, from event to event: nothing happens
/// in between but steps and checkpoints, and these are jumped over.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "hw/base/words.hpp"
#include "hw/site.hpp"

namespace prequel {

/// The cause of wall time that is not productive.
enum class Loss : std::uint8_t {
  saving,
  node_failures,  ///< work done again and restarts, as of the next three
  job_failures,
  hangs,
  silent_corruption,
  fail_slow,
  planned_stops,
  walltime,  ///< the queue between two jobs of limited length
  waiting_for_spares,
  fewer_replicas,
  unattended,  ///< until somebody restarts
  start,
  evaluation
};
inline constexpr std::size_t kLosses = 13;
template <>
inline constexpr std::array<std::string_view, kLosses> kWordsOf<Loss>{
    "saving",         "node_failures",     "job_failures",
    "hangs",          "silent_corruption", "fail_slow",
    "planned_stops",  "walltime",          "waiting_for_spares",
    "fewer_replicas", "unattended",        "start",
    "evaluation"};
using LossTimes = std::array<double, kLosses>;  ///< s, by Loss

/// The choice of a job that lacks a node.
enum class WithoutSpare : std::uint8_t { wait, shrink, stop };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<WithoutSpare>{"wait", "shrink", "stop"};

/// The times of saving, s.
struct SavingTimes {
  double interval{};  ///< of work between two checkpoints, above 0
  double stall{};     ///< training stands still: the whole write, or the copy to host memory
  double write{};     ///< from then on until the checkpoint is durable; 0 where the stall was all
  double load{};      ///< reading one
};

/// A job on reserved nodes. Times in s.
struct Reservation {
  std::int64_t nodes{1};          ///< that the job uses
  std::int64_t spares{};          ///< reserved beside them
  std::int64_t pool{};            ///< of the site, that helps as spares do and is not paid
  std::int64_t domains{1};        ///< groups of nodes that only a spare of their own helps
  std::int64_t replicas{1};       ///< data-parallel ones, to go on with fewer
  std::int64_t micro_batches{1};  ///< of one replica, which those that are left share
  double work{};                  ///< all steps and evaluations at the predicted speed
  double length{};                ///< of the reservation; infinite: until the work is done
  double step_scale{};   ///< of ln seconds a step: Student t with 4 degrees of freedom around it
  double first_start{};  ///< until the first step
  double evaluation_share{};  ///< of the work
  double walltime{};          ///< after which a job must end; 0: no limit
  double queue{};             ///< wait before each start but the first
  WithoutSpare without_spare{WithoutSpare::wait};
  SavingTimes saving;
  Reliability reliability;
};

/// One way that it may go. Everything but `finished` is up to the last step or to the end of the
/// reservation, whichever comes first.
struct Replication {
  double finished{};    ///< s until the last step; infinite where no end is in sight
  double elapsed{};     ///< s, the sum of `productive` and all of `lost`
  double work{};        ///< done and not undone, s at the predicted speed
  double productive{};  ///< s of steps, each counted once
  double computing{};   ///< s in which steps were computed, whether they counted or not
  double repeated{};    ///< s of steps that had to be done again
  std::int64_t stops{};
  LossTimes lost{};
};

/// Plays replication number `replication`: the same for the same seed, and in other reservations
/// with the same draws, so that differences are those of the reservations. `work_at[i]` becomes the
/// work done by `times[i]`, which ascend.
Replication play(const Reservation& reservation, std::uint64_t seed, std::uint64_t replication,
                 std::span<const double> times = {}, std::span<double> work_at = {});

}  // namespace prequel
