#pragma once

/// One quantity of measured runs fitted under what is known before them, for all rows and for
/// parts.

#include <atomic>
#include <vector>

#include "calibrate/runs/run_quantities.hpp"

namespace prequel {

/// A choice with the constants that are most probable under it.
struct Hypothesis {
  StackChoice choice;
  Posterior posterior;
  Eigen::VectorXd prior_sd;  ///< of the constants, as the runs weigh the levels of the prior
  double weight{};
};

/// What a fit says of one row that it did not see.
struct Forecast {
  double log_median{};
  double scale{};  ///< of a Student t
};

/// Rows of one quantity, the constants that are asked, and what the quantities do as these move
/// from the files' values: found once, for the fit to all rows and those to parts. Indices of rows
/// are those of `runs`.
class RunFit {
 public:
  RunFit(std::vector<ObservedRun> runs, const Uncertainty& uncertainty,
         std::vector<Uncertain> constants, WhatIsKnown known, const std::atomic<bool>* stop);

  [[nodiscard]] const std::vector<ObservedRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<Uncertain>& constants() const { return constants_; }
  [[nodiscard]] double as_files_say(std::size_t row) const {
    return start_.values[static_cast<Eigen::Index>(row)];
  }
  /// Whether the constant moves any row.
  [[nodiscard]] bool felt(Eigen::Index constant) const {
    return !start_.slopes.col(constant).isZero();
  }

  /// Greedy over the choices: from the best known, each name changed, until none is better; most
  /// probable first. No rows leave the prior.
  [[nodiscard]] std::vector<Hypothesis> fit(const std::vector<std::size_t>& rows) const;

  /// The mixture of the hypotheses: their mean, and what they differ by as further spread.
  [[nodiscard]] std::vector<Forecast> forecasts(const std::vector<Hypothesis>& hypotheses,
                                                const std::vector<std::size_t>& rows) const;

  /// Refits `rows` on `near`, a linear model of all rows, which asks for no prediction.
  [[nodiscard]] Posterior refit(const LinearModel& near,
                                const std::vector<std::size_t>& rows) const;

  /// Forecasts `rows` after a refit, by the same linear model.
  [[nodiscard]] static std::vector<Forecast> forecasts_near(const LinearModel& near,
                                                            const Posterior& refitted,
                                                            const std::vector<std::size_t>& rows);

  /// By the median factor of measured over predicted of `rows`: the baseline; 0 without any.
  [[nodiscard]] double one_factor(const std::vector<std::size_t>& rows) const;

 private:
  [[nodiscard]] LogQuantities quantities_of(const std::vector<ObservedRun>& part,
                                            const StackChoice& choice) const;
  [[nodiscard]] std::vector<ObservedRun> part_of(const std::vector<std::size_t>& rows) const;
  [[nodiscard]] Posterior under_priors(const std::vector<ObservedRun>& part,
                                       const LogQuantities& quantities, LinearModel start,
                                       Eigen::VectorXd& prior_variance) const;
  [[nodiscard]] bool tells(const std::vector<ObservedRun>& part, const StackChoice& choice,
                           const StackChoice& other) const;
  [[nodiscard]] Hypothesis hypothesis(const std::vector<ObservedRun>& part,
                                      const std::vector<std::size_t>& rows,
                                      const StackChoice& choice) const;

  std::vector<ObservedRun> runs_;
  const Uncertainty& uncertainty_;
  std::vector<Uncertain> constants_;
  WhatIsKnown known_;
  const std::atomic<bool>* stop_;
  LinearModel start_;
};

}  // namespace prequel
