#pragma once

/// Change of a plan's time and memory with each uncertain constant.

#include "sim/answer/known_spread.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {

/// Slopes of a logarithm over each u.
struct Slopes {
  Deviations time{}, printed{}, needed{};
};

/// Central differences of 0.35 deviations, wide enough to see past the corners of overlap and
/// pipelines; those of constants that the plan cannot feel are 0.
Slopes slopes_of(const Scenario& scenario, const Prediction& prediction,
                 const Uncertainty& uncertainty, const Spread& spread);

}  // namespace prequel
