#pragma once

/// How sure an answer is: intervals of time and memory from what no file knows exactly, and which
/// of two plans is faster.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/answer/uncertainty.hpp"

namespace prequel {

/// What is known of all constants together for the files of one scenario.
struct Spread {
  std::array<Deviations, kUncertain> covariance{};  ///< of u
  double time_noise{};                              ///< scale of the scatter of ln seconds
  double memory_noise{};                            ///< of ln bytes
  bool earned{};                                    ///< by runs of this stack on this cluster
  std::string basis;                                ///< what it rests on, in words

  /// The lower triangle L with L·Lᵀ = covariance; columns of constants that are certain are 0.
  [[nodiscard]] std::array<Deviations, kUncertain> root() const;
};

/// The spreads that the files state; of other constants the prior's, by how well the stack is known
/// on this cluster.
Spread spread_of(const Scenario& scenario, const Uncertainty& uncertainty);

/// Slopes of a logarithm over each u.
struct Slopes {
  Deviations time{}, printed{}, needed{};
};

/// Central differences of 0.35 deviations, wide enough to see past the corners of overlap and
/// pipelines; those of constants that the plan cannot feel are 0.
Slopes slopes_of(const Scenario& scenario, const Prediction& prediction,
                 const Uncertainty& uncertainty, const Spread& spread);

/// A part of the variance of ln seconds.
struct SpreadSource {
  std::string name;  ///< of a constant, or "run to run"
  double share{};
};

/// ln seconds and ln bytes scatter as Student t with 4 degrees of freedom around the prediction,
/// scale² = slopes·covariance·slopes + noise².
struct Interval {
  double level{};
  Seconds time_low, time_high;
  Bytes memory_low, memory_high;
  double fits_probability{};
  std::vector<SpreadSource> sources;  ///< the three largest
  double time_scale{};                ///< of ln seconds
  double memory_scale{};              ///< of ln bytes
  double time_prior{};                ///< that of ln seconds by all constants at the priors' spread
  double time_unmeasured{};           ///< that by kernels that nobody measured on the device
  double memory_prior{};              ///< of ln bytes, as printed
  double memory_room{};               ///< ln of the device's memory over what is needed
  Deviations slopes{};                ///< of ln seconds over each u
  bool earned{};                      ///< as of the spread
  std::string basis;

  /// Expected |ln(measured / predicted)| of seconds: the mean of |t| with 4 degrees of freedom
  /// is 1.
  [[nodiscard]] double expected_error() const { return time_scale; }
};

/// Numbers whose files say how sure they are though no interval hears of it.
std::vector<std::string> unheard_spreads(const Scenario& scenario);

/// The error that a stack states was earned on its own tables; elsewhere the interval's holds where
/// it is wider.
void state_error(const Interval& interval, Prediction& prediction);

inline constexpr double kIntervalLevel = 0.8;
inline constexpr double kCardScatter = 0.06;  ///< of what a device can really give, of its memory

Interval interval(const Scenario& scenario, const Prediction& prediction,
                  const Uncertainty& uncertainty, double level = kIntervalLevel);

/// One of several plans of the same files: what they are ranked by, less is better.
struct UncertainPlan {
  double value{};       ///< seconds, or what goes with them
  Deviations slopes{};  ///< of ln value
  double fits{1.0};     ///< probability that it runs at all
};

struct Odds {
  double best{};           ///< probability of being the best of those that run
  double expected_loss{};  ///< where it runs, of the value against the best's, as a fraction
};

/// Probability that `first` is the better of the two: their scatter is a Student t around what the
/// constants make of both, half of whose variance is a plan's own.
double better_probability(const UncertainPlan& first, const UncertainPlan& second,
                          const Spread& spread);

/// How unlike two of the plans are.
using Unlikeness = std::function<double(std::size_t, std::size_t)>;

/// The plans of which one most probably is the best, at most `count`, the most probable first. Of
/// those that draws cannot tell apart, the first comes first, and then those most unlike the ones
/// that are named already.
std::vector<std::size_t> most_promising(const std::vector<Odds>& odds, std::size_t count,
                                        const Unlikeness& unlikeness = {});

/// By draws of all constants at once, so that errors which plans share cancel, and of scatter, half
/// of whose variance is a plan's own; what memory errs by is one draw for all. The seed is fixed.
std::vector<Odds> odds(const std::vector<UncertainPlan>& plans, const Spread& spread);

}  // namespace prequel
