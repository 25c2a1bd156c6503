#pragma once

/// Statistics of relative errors, and how often measurements lie inside intervals.

#include <array>
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

inline constexpr std::array<double, 3> kCoverageLevels{0.5, 0.8, 0.95};

struct Coverage {
  std::size_t n{};
  std::array<double, kCoverageLevels.size()> inside{};  ///< shares of n, by level
};

/// Returns the coverage of distances |ln(measured / median)| over the scale of their Student t.
Coverage coverage(const std::vector<double>& distances);

}  // namespace prequel
