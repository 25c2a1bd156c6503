#pragma once

/// Many ways that a reservation may go, and what they have in common.

#include <vector>

#include "sim/run/energy.hpp"
#include "sim/run/reservation.hpp"
#include "sim/run/tokens_of_work.hpp"

namespace prequel {

/// The values that 10, 50 and 90 % of the ways stay below.
struct Band {
  double p10{}, p50{}, p90{};
};

/// Returns the band of `values`.
Band band_of(std::vector<double> values);

/// A reservation over all of its replications. Times in s; work in s at the predicted speed.
struct PlayedReservation {
  Band finished;       ///< infinite where no end is in sight
  double completes{};  ///< probability of the last step within the reservation
  Band elapsed;        ///< until the last step or the end of the reservation
  Band tokens;         ///< seen by then
  Band stops;
  Band ettr;                         ///< time of steps that count, slow ones too, over elapsed time
  Band goodput;                      ///< tokens over elapsed time, 1/s
  Band utilisation;                  ///< productive over paid node-seconds
  Band joules;                       ///< of all nodes at the plug, spares included
  Band paid;                         ///< s for which nodes are paid
  LossTimes lost{};                  ///< means
  double repeated{};                 ///< mean s of steps done again
  std::vector<double> all_finished;  ///< of each replication, ascending
  double mean_finished{};            ///< of those with an end
  double mean_ettr{}, ettr_error{};  ///< and its standard error
  std::vector<double> times;         ///< s since the start
  std::vector<Band> tokens_at;       ///< seen by then

  /// Returns the time by which a share of all ways has ended.
  [[nodiscard]] double finished_by(double share) const;
  /// Returns the share of all ways that has ended by then.
  [[nodiscard]] double share_finished_by(double seconds) const;
};

struct ReplicationQuestion {
  std::size_t replications{1000};
  std::uint64_t seed{1};
  NodePower power;
  std::size_t times{};  ///< points of the curve over the reservation; 0: none
  TokensOfWork tokens{};
};

/// Plays on several cores; the answer does not depend on how many.
PlayedReservation replications(const Reservation& reservation, const ReplicationQuestion& question);

}  // namespace prequel
