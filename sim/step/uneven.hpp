#pragma once

/// A step whose sequences differ in length: steps are drawn and played, each micro batch of each
/// replica with its own time.

#include "sim/step/step.hpp"

namespace prequel {

/// Tokens of one step.
struct StepTokens {
  double computed{};  ///< padding included
  double real{};      ///< without padding
  double loss{};      ///< that a loss is of: all but the first of each sequence
};

struct UnevenSteps {
  double seconds{};  ///< mean, with the fixed time
  double sd{};       ///< of steps, over the mean
  StepTokens tokens;
};

/// Plays steps of the plan's `lengths`. A pass of a micro batch takes what the layers' price says
/// for the mean, its attention times the squares of its sequences over the mean, all else times its
/// tokens, and never less than its launches. Replicas wait for one another at the end of the step,
/// and where layers are gathered one by one in every micro batch.
UnevenSteps play_uneven(const Scenario& scenario, const Step& step);

}  // namespace prequel
