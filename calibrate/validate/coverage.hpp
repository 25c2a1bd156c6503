#pragma once

/// Coverage of intervals: how many measured values lie in those of three levels.

#include <array>
#include <cstddef>
#include <vector>

namespace prequel {

inline constexpr std::array<double, 3> kCoverageLevels{0.5, 0.8, 0.95};

struct Coverage {
  std::size_t n{};
  std::array<double, kCoverageLevels.size()> inside{};  ///< shares of n, by level
};

/// Returns the coverage of distances |ln(measured / median)| over the scale of their Student t.
Coverage coverage(const std::vector<double>& distances);

}  // namespace prequel
