#include "calibrate/measure/sampling.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace prequel {
namespace {

/// Samples between two looks at the interval, which costs a sort.
constexpr std::size_t kBetweenLooks = 5;
constexpr double kNormal95 = 1.959964;

double at(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

Clock steady_clock() {
  return [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return Seconds{std::chrono::duration<double>(now).count()};
  };
}

Quantiles quantiles(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {{at(samples, 0.1)}, {at(samples, 0.5)}, {at(samples, 0.9)}};
}

double median_uncertainty(std::vector<double> samples) {
  const auto count = static_cast<double>(samples.size());
  if (count < 6) return std::numeric_limits<double>::infinity();
  std::sort(samples.begin(), samples.end());
  const double half = kNormal95 * std::sqrt(count) / 2.0;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2.0 - half)));
  const auto high =
      std::min(samples.size() - 1, static_cast<std::size_t>(std::ceil(count / 2.0 + half)));
  return (samples[high] - samples[low]) / 2.0 / at(samples, 0.5);
}

std::vector<double> sample(const std::function<Seconds()>& run, const SamplingRule& rule,
                           const Clock& clock, const std::function<bool(bool)>& go_on) {
  const double start = clock().value;
  const auto in_budget = [&] { return clock().value - start < rule.budget.value; };
  std::vector<double> samples;
  for (int i = 0; i < rule.warm_up; ++i) {
    const Seconds time = run();
    if (go_on(in_budget())) continue;
    samples.push_back(time.value);  // too long to be run twice: what there is must do
    return samples;
  }
  const auto is_wanted = [&] {
    if (samples.size() >= rule.most) return false;
    if (samples.size() < rule.fewest) return samples.empty() || in_budget();
    if (!in_budget()) return false;
    return samples.size() % kBetweenLooks != 0 || median_uncertainty(samples) > rule.precision;
  };
  while (go_on(is_wanted())) samples.push_back(run().value);
  return samples;
}

}  // namespace prequel
