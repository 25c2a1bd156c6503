#pragma once

/// Shipped tables of measured runs.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/validate/measured_runs.hpp"
#include "tests/sim/shipped_priors.hpp"

namespace prequel {

/// The first rows of a table, at most so many.
inline std::vector<MeasuredRun> table(const std::string& name, std::size_t most = 1000) {
  auto runs = read_measured_runs(PREQUEL_DATA_DIR "/runs/" + name + ".csv");
  runs.resize(std::min(runs.size(), most));
  return runs;
}

}  // namespace prequel
