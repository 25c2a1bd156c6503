#pragma once

/// Where the time of a step goes, stage by stage.

#include <vector>

#include "sim/step/breakdown.hpp"
#include "sim/step/step.hpp"

namespace prequel {

/// The time of one stage in a step.
struct StageAccount {
  double busy{};  ///< s of its passes and, where they block, its sends
  Breakdown time;
  HiddenTime hidden;
};

/// A step played, with its account of each stage.
struct PlayedStep {
  Seconds seconds;  ///< with the fixed time
  std::vector<StageAccount> stages;
};

PlayedStep play(const Step& step);

}  // namespace prequel
