#pragma once

/// Which of several plans is the best, and with what probability.

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/answer/known_spread.hpp"

namespace prequel {

/// One of several plans of the same files: what they are ranked by, less is better.
struct UncertainPlan {
  double value{};       ///< seconds, or what goes with them
  Deviations slopes{};  ///< of ln value
  double fits{1.0};     ///< probability that it runs at all
  PlanTraits traits{};  ///< plans scatter alike as these are
};

struct Odds {
  double best{};           ///< probability of being the best of those that run
  double expected_loss{};  ///< where it runs, of the value against the best's, as a fraction
};

/// Probability that `first` is the better of the two: their scatter is a Student t around what the
/// constants make of both, and what they share of it cancels.
double better_probability(const UncertainPlan& first, const UncertainPlan& second,
                          const Spread& spread);

/// How unlike two of the plans are.
using Unlikeness = std::function<double(std::size_t, std::size_t)>;

/// The plans of which one most probably is the best, at most `count`, the most probable first.
/// Among those that draws cannot tell apart, the first comes first, and then those most unlike the
/// ones named already.
std::vector<std::size_t> most_promising(const std::vector<Odds>& odds, std::size_t count,
                                        const Unlikeness& unlikeness = {});

/// By draws of all constants at once, so that errors which plans share cancel, and of scatter, a
/// part for each trait that plans share and one of a plan's own; what memory errs by is one draw
/// for all. The seed is fixed.
std::vector<Odds> odds(const std::vector<UncertainPlan>& plans, const Spread& spread);

}  // namespace prequel
