#pragma once

#include <vector>

#include "sim/schedule/schedule.hpp"

namespace prequel {

/// The most (micro batch, chunk) pairs that each stage holds.
inline std::vector<double> most_in_flight(Schedule kind, const PipelineShape& shape) {
  std::vector<double> most;
  for (const InFlight& stage : in_flight(kind, shape)) {
    most.push_back(static_cast<double>(stage.most));
  }
  return most;
}

}  // namespace prequel
