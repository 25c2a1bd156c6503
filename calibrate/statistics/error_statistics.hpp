#pragma once

/// How a list of relative errors is summed up.

#include <cstddef>
#include <vector>

namespace prequel {

/// The statistics of errors predicted / measured - 1, as fractions; all 0 for an empty list.
struct ErrorStatistics {
  std::size_t n{};
  double mape{};    ///< mean of the absolute values
  double median{};  ///< of the absolute values
  double p90{};     ///< of the absolute values
  double max{};     ///< of the absolute values
  double bias{};    ///< mean with sign
};

ErrorStatistics error_statistics(const std::vector<double>& errors);

/// The value below which `fraction` of the list lies, interpolated; 0 for an empty list.
double quantile(std::vector<double> values, double fraction);

}  // namespace prequel
