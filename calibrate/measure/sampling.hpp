#pragma once

/// How often one point is measured.

#include <cstddef>
#include <functional>
#include <vector>

#include "hw/base/units.hpp"

namespace prequel {

/// Seconds since some moment; a test gives its own.
using Clock = std::function<Seconds()>;

/// The machine's steady clock.
Clock steady_clock();

struct SamplingRule {
  int warm_up{2};          ///< runs that are not counted
  std::size_t fewest{7};   ///< samples, if the budget allows
  std::size_t most{2000};  ///< samples
  double precision{0.01};  ///< of the median: half its 95 % interval over its value
  Seconds budget{1.0};     ///< of the point, warm-up included
};

struct Quantiles {
  Seconds p10;
  Seconds median;
  Seconds p90;
};

/// Linear between the samples. There must be at least one.
Quantiles quantiles(std::vector<double> samples);

/// Half the 95 % confidence interval of the median over the median, from order statistics
/// (binomial, normal approximation), which asks nothing of the distribution. Infinite for fewer
/// than six samples, of which no interval holds 95 %.
double median_uncertainty(std::vector<double> samples);

/// Calls `run`, which says how long it took, until the median is certain enough, the budget is
/// spent, or there are enough samples. `go_on` has the last word on each repetition: a group of
/// processes agrees in it. A run longer than the budget is not repeated.
std::vector<double> sample(const std::function<Seconds()>& run, const SamplingRule& rule,
                           const Clock& clock, const std::function<bool(bool)>& go_on);

}  // namespace prequel
