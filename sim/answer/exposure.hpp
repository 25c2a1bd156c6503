#pragma once

/// Why communication of a plan keeps its kernels waiting.

#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/prediction.hpp"

namespace prequel {

/// A part of `Breakdown`, by its name there.
struct Exposure {
  std::string_view part;
  std::string why;
};

/// One for each kind of communication that takes the slowest stage 1 % of the iteration or more.
std::vector<Exposure> exposures(const Scenario& scenario, const Prediction& prediction);

}  // namespace prequel
