#pragma once

/// A reservation for a prediction: what is asked, made into a job to play, and what it brings.

#include <optional>
#include <string>
#include <vector>

#include "hw/site.hpp"
#include "sim/run/replications.hpp"
#include "sim/run/reservation_question.hpp"
#include "sim/run/training_run.hpp"

namespace prequel {

/// The outcome of another choice, on the same draws.
struct Alternative {
  std::string change;
  PlayedReservation played;
};

struct ReservationAnswer {
  Reservation reservation;
  Site site;
  bool own_figures{};  ///< the cluster states some
  Saving saving{};
  Bytes checkpoint;
  PlayedReservation played;
  double mtbf{};           ///< s, at the median rates; infinite where nothing fails
  double best_interval{};  ///< s of work, by the closed form
  double expected_ettr{};  ///< by the closed form
  std::int64_t spares_for_99{};
  double lacking{};                ///< share of the time in which a node is lacking
  std::optional<NodePower> power;  ///< where the device's is known
  double nameplate{};              ///< W of a node's boards
  std::vector<Alternative> alternatives;
};

/// How a stack saves if nobody says: beside training in releases of 2024 and later, or whose year
/// is not in their name.
Saving usual_saving(const std::string& software);

/// The job that is asked for, at the predicted speed. `run` is its training without failures,
/// `step_scale` the spread of ln seconds a step.
Reservation reservation_of(const Scenario& scenario, const TrainingRun& run, double step_scale,
                           const Site& site, const RunQuestion& question, Saving saving);

/// Plays it, and what else could be done. Throws InputError where the question contradicts itself.
ReservationAnswer reserve(const Scenario& scenario, const Prediction& prediction,
                          const TrainingRun& run, double step_scale, const Site& site,
                          const RunQuestion& question);

}  // namespace prequel
