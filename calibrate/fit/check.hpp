#pragma once

/// Holds a device or a cluster against measured kernels and collectives.

#include <functional>
#include <string>
#include <vector>

#include "calibrate/readings/measurement.hpp"
#include "calibrate/statistics/error_statistics.hpp"
#include "hw/cluster.hpp"
#include "hw/device.hpp"

namespace prequel {

/// Time that a model gives a measured point. Throws InputError where it has none.
using Predictor = std::function<Seconds(const Measurement&)>;

Seconds predict(const Device& device, const Measurement& point);
/// Collectives, and tokens on their way to experts; groups that span nodes take an equal share of
/// each.
Seconds predict(const Cluster& cluster, const Measurement& point);

struct CheckGroup {
  std::string group;
  ErrorStatistics errors;  ///< of predicted / measured - 1, scales taken out
  double scale{1.0};       ///< median of measured / predicted, before that
};

/// One environment (clock, library version) and the factor that was taken out of it.
struct EnvironmentScale {
  std::string environment;
  double scale{1.0};
};

struct Check {
  std::vector<CheckGroup> groups;          ///< in order of their names
  std::vector<EnvironmentScale> scales;    ///< empty without `scale_per`
  std::vector<std::string> not_predicted;  ///< why, once for each reason
};

/// Columns that make the groups and the environments; empty: one group `all`, no scale.
struct CheckOptions {
  std::string by;
  std::string scale_per;
};

/// Throws InputError when a point lacks one of the columns, or nothing can be predicted.
Check check(const std::vector<Measurement>& points, const Predictor& predictor,
            const CheckOptions& options);

}  // namespace prequel
