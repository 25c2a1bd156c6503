#include "calibrate/validate/coverage.hpp"

#include <algorithm>

#include "sim/answer/student_t.hpp"

namespace prequel {

Coverage coverage(const std::vector<double>& distances) {
  Coverage result{distances.size(), {}};
  if (distances.empty()) return result;
  for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
    const double width = t4_half_width(kCoverageLevels[i]);
    const auto inside = std::ranges::count_if(
        distances, [&](double distance) { return std::abs(distance) <= width; });
    result.inside[i] = static_cast<double>(inside) / static_cast<double>(distances.size());
  }
  return result;
}

}  // namespace prequel
