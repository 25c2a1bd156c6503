#pragma once

/// Shipped tables of measured runs, and what is known of constants before them.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/validate/measured_runs.hpp"
#include "hw/base/json_cursor.hpp"
#include "sim/answer/uncertainty.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {

inline Uncertainty priors(const Library& library = shipped_library()) {
  return read_uncertainty(library.open("uncertainty", "priors"));
}

/// The first rows of a table, at most so many.
inline std::vector<MeasuredRun> table(const std::string& name, std::size_t most = 1000) {
  auto runs = read_measured_runs(PREQUEL_DATA_DIR "/runs/" + name + ".csv");
  runs.resize(std::min(runs.size(), most));
  return runs;
}

}  // namespace prequel
