#pragma once

/// Change of a plan's time and memory with each uncertain constant.

#include "sim/answer/known_spread.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {

/// Slopes over each u of ln bytes: of what is printed, and of what a device needs.
struct MemorySlopes {
  Deviations printed{}, needed{};
};

/// Central differences of 0.35 deviations, wide enough to see past the corners of overlap and
/// pipelines; those of constants that the plan cannot feel are 0.
MemorySlopes memory_slopes_of(const Scenario& scenario, const Prediction& prediction,
                              const Uncertainty& uncertainty, const Spread& spread);

/// Likewise those of ln seconds, which take many times as long.
Deviations time_slopes_of(const Scenario& scenario, const Uncertainty& uncertainty,
                          const Spread& spread);

}  // namespace prequel
