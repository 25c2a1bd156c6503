#pragma once

/// Expected outcome of a reservation in closed form: a check beside the play, and fast enough to
/// compare very many plans.

#include "sim/run/reservation.hpp"

namespace prequel {

/// Stops of a job, 1/s, at the median rates.
struct StopRates {
  double failures{};  ///< of nodes and of the job alone
  double planned{};
  double corruptions{};
  [[nodiscard]] double all() const { return failures + planned + corruptions; }
};
StopRates stop_rates(const Reservation& reservation);

/// Returns the mean seconds that a failure keeps the job down: detection, restart, load, queue,
/// the watchdog of hangs and who is not there to restart. A lognormal's mean is its median times
/// e^(σ²/2).
double mean_restart(const Reservation& reservation);

/// Returns the expected seconds of one second of work, saved every `interval` with a stall and a
/// write beside training, where the job fails once in `mtbf` and is down for `restart`. Without a
/// write it is Daly 2006, eq. 20. A failure also loses what was taken but not durable: a write's
/// time in the mean, which counts as more restart; to first order in 1/mtbf,
/// 1/((1 − (restart + interval/2 + write)/mtbf)·interval/(interval + stall)).
double expected_stretch(const SavingTimes& saving, double mtbf, double restart);

/// Returns the interval that loses the least: Daly's (eq. 37) where training stands still; else
/// max(write, √(2·mtbf·stall)), since a write waits for the one before it.
double best_interval(const SavingTimes& saving, double mtbf);

/// Returns the mean share of full speed with slow nodes about: as many at once as a Poisson number
/// of mean rate × duration, all waiting for the slowest.
double speed_with_slow_nodes(const Reservation& reservation);

/// Returns the probability that a job lacks a node: those in repair are a Poisson number of mean
/// nodes × rate × repair (M/G/∞, whatever the distribution of repairs), in each domain apart.
double chance_of_lacking(const Reservation& reservation);

/// Returns the fewest spares with which at most `chance` of the time a node is lacking.
std::int64_t spares_for(const Reservation& reservation, double chance);

/// Returns productive time over wall time (ETTR), expected at the median rates; steps on slow nodes
/// count as long as they take.
double expected_ettr(const Reservation& reservation);

/// Returns seconds of work a second, expected: the same times the speed with slow nodes about.
double expected_progress(const Reservation& reservation);

}  // namespace prequel
