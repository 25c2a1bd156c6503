#pragma once

/// How two predictions differ, and how sure that is: errors that both share cancel.

#include <vector>

#include "sim/answer/interval.hpp"

namespace prequel {

/// One of the two that are compared, with its interval.
struct ComparedAnswer {
  const Scenario& scenario;
  const Prediction& prediction;
  const Interval& interval;
};

/// The logarithm of the ratio of speeds scatters as Student t with 4 degrees of freedom.
struct Difference {
  double level{};
  double speed_ratio{};              ///< tokens a second of the second over those of the first
  double ratio_low{}, ratio_high{};  ///< of the interval
  double first_is_faster{};          ///< probability
  double scale{};                    ///< of ln speed_ratio
  double cancelled{};  ///< share of the variance of ln speed_ratio that is gone as it is shared
  std::vector<SpreadSource> sources;  ///< of what remains, the three largest
};

/// A constant errs alike on both sides where it is the same one: its numbers are equal, and what
/// they belong to (the device that kernels run on, the site of links, hosts and clocks) is, too.
/// Part of the scatter from run to run is shared: runs of one stack on one cluster share a part,
/// the more alike the plans are, as in `odds`.
Difference difference(const ComparedAnswer& first, const ComparedAnswer& second,
                      const Uncertainty& uncertainty, double level = kIntervalLevel);

/// Tests whether a constant errs alike in both.
bool is_shared(Uncertain constant, const Scenario& first, const Scenario& second);

}  // namespace prequel
