#pragma once

/// Measured runs as a calibration sees them: what was observed, and what the constants make of it.

#include <string>
#include <vector>

#include "calibrate/statistics/posterior.hpp"
#include "calibrate/validate/measured_runs.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// Constants of the stack that are names, not numbers: a kernel's generation, how the host
/// launches, when gradients are reduced. Empty: as the files say.
struct StackChoice {
  std::optional<std::string> flash_kernel;
  std::optional<Launch> launch;
  std::optional<GradientOverlap> gradient_overlap;

  friend bool operator==(const StackChoice&, const StackChoice&) = default;
};
/// "flash_kernel flash-2, launch async", or "as the files say".
std::string text(const StackChoice& choice);

/// The logarithm of a prediction that an observation is of.
using AnswerPart = double LogAnswer::*;

/// One thing that was measured of one run, and the inputs of its prediction.
struct ObservedRun {
  const MeasuredRun* run{};
  Scenario scenario;
  AnswerPart quantity{};
  Observation seen;
};

/// Times of the runs that ran and can be predicted.
std::vector<ObservedRun> observed_times(const Library& library,
                                        const std::vector<MeasuredRun>& runs);
/// Their memory: as printed, or that they fitted; and that others ran out of it.
std::vector<ObservedRun> observed_memory(const Library& library,
                                         const std::vector<MeasuredRun>& runs);

/// The choices that change one name of `from` and that the runs' devices have.
std::vector<StackChoice> neighbours(const StackChoice& from, const std::vector<ObservedRun>& runs);

/// The logarithms that the observations are of, at constants u: those of `constants`, in that
/// order, moved; several threads at once.
LogQuantities log_quantities(const std::vector<ObservedRun>& runs, const Uncertainty& uncertainty,
                             const std::vector<Uncertain>& constants, const StackChoice& choice);

/// How many names the choice changes.
int changes(const StackChoice& choice);

/// The prior of these constants, all spreads times `level`.
Prior prior_of(const Uncertainty& uncertainty, const std::vector<Uncertain>& constants,
               const NoisePrior& noise, double level = 1.0);

struct WeighedPrior {
  Prior prior;
  double weight{};
};
/// The prior knowledge before the runs.
struct WhatIsKnown {
  std::vector<WeighedPrior> priors;  ///< the widest is last
  double other_name{};               ///< odds that a name in the files is another one; 0: never
};
/// Nothing but the priors of a stack never seen, whose names are as the files say.
WhatIsKnown only_priors(const std::vector<ObservedRun>& runs, const Uncertainty& uncertainty,
                        const std::vector<Uncertain>& constants);
/// From what their files earned (`spread_of`, the mean over the runs, and what a site drifts by) to
/// nothing but the priors of a stack never seen, which is the more probable for stacks that none
/// checked.
WhatIsKnown what_is_known(const std::vector<ObservedRun>& runs, const Uncertainty& uncertainty,
                          const std::vector<Uncertain>& constants);

}  // namespace prequel
