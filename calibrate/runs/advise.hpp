#pragma once

/// Which measurement would narrow a prediction most.

#include <string>
#include <vector>

#include "sim/answer/interval.hpp"

namespace prequel {

/// A measurement that could be made, and the interval that would be left.
struct Advice {
  std::string measurement;
  double minutes{};
  double half_width{};  ///< of the time's 80 % interval afterwards, as a fraction
};

struct AdviceReport {
  double half_width{};          ///< now
  std::vector<Advice> advices;  ///< those that narrow most first
};

/// Kernel and collective benchmarks, and short runs of the same model and stack on fewer nodes: a
/// measurement of slopes h with scatter m takes (g·C·h)² / (h·C·h + m²) from the variance g·C·g.
AdviceReport advise(const Scenario& scenario, const Uncertainty& uncertainty);

}  // namespace prequel
