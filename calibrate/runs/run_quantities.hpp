#pragma once

/// Measured runs as a calibration sees them: what was observed, and what the constants make of it.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/statistics/posterior.hpp"
#include "calibrate/validate/measured_runs.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// Keys of a stack's file whose values are names, not numbers: a kernel's generation, how the host
/// launches, when gradients are reduced.
inline constexpr std::array<std::string_view, 3> kStackNames{"kernels.flash_kernel", "launch",
                                                             "communication.gradient_overlap"};
/// The words of these keys; empty: as the files say.
using StackChoice = std::array<std::string, kStackNames.size()>;
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

/// The constants that move times, or those that move memory.
std::vector<Uncertain> constants_of(bool of_time);

/// The numbers that a constant moves, at u.
std::vector<UncertainField> fields_at(Scenario scenario, const Uncertainty& uncertainty,
                                      Uncertain constant, double u);
/// The one at `path`; of a constant that stands in no file, its factor.
double value_at(const Scenario& scenario, const Uncertainty& uncertainty, Uncertain constant,
                const std::string& path, double u);

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
