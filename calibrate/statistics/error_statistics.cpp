#include "calibrate/statistics/error_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "hw/base/student_t.hpp"

namespace prequel {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

ErrorStatistics error_statistics(const std::vector<double>& errors) {
  ErrorStatistics result;
  result.n = errors.size();
  if (errors.empty()) return result;
  std::vector<double> sizes;
  sizes.reserve(errors.size());
  double sum = 0.0;
  double sum_sizes = 0.0;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    sum += error;
    sum_sizes += std::abs(error);
  }
  const auto n = static_cast<double>(errors.size());
  result.mape = sum_sizes / n;
  result.bias = sum / n;
  result.median = quantile(sizes, 0.5);
  result.p90 = quantile(sizes, 0.9);
  result.max = *std::max_element(sizes.begin(), sizes.end());
  return result;
}

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
