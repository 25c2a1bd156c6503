#include "sim/answer/interval.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "hw/base/portable_math.hpp"
#include "sim/answer/slopes.hpp"
#include "sim/answer/student_t.hpp"

namespace prequel {
namespace {

constexpr std::size_t kShownSources = 3;

/// Of all constants at the priors' full spread.
double prior_scale(const Deviations& slopes, const Uncertainty& uncertainty) {
  Spread full;
  const auto sd = [&](Uncertain constant) { return uncertainty.constants[index_of(constant)].sd; };
  for (std::size_t i = 0; i < kUncertain; ++i) {
    full.covariance[i][i] = sd(Uncertain(i)) * sd(Uncertain(i));
  }
  for (const Correlation& one : uncertainty.correlations) {
    const double covariance = one.value * sd(one.first) * sd(one.second);
    full.covariance[index_of(one.first)][index_of(one.second)] = covariance;
    full.covariance[index_of(one.second)][index_of(one.first)] = covariance;
  }
  return std::sqrt(variance_of(slopes, full));
}

std::vector<SpreadSource> largest_sources(const Deviations& slopes, const Spread& spread) {
  const double noise = spread.time_noise * spread.time_noise;
  const double all = variance_of(slopes, spread) + noise;
  std::vector<SpreadSource> sources{{"run to run", noise / all}};
  for (std::size_t i = 0; i < kUncertain; ++i) {
    double part = 0.0;
    for (std::size_t j = 0; j < kUncertain; ++j) part += spread.covariance[i][j] * slopes[j];
    part *= slopes[i];
    if (part > 0) sources.push_back({std::string(kUncertainNames[i]), part / all});
  }
  std::ranges::stable_sort(sources, std::greater{}, &SpreadSource::share);
  sources.resize(std::min(sources.size(), kShownSources));
  return sources;
}

double most_needed(const Prediction& prediction) {
  double needed = 0.0;
  for (const StagePrediction& stage : prediction.stages) {
    needed = std::max(needed, stage.memory.allocated().value);
  }
  return needed;
}

}  // namespace

Interval interval(const Scenario& scenario, const Prediction& prediction,
                  const Uncertainty& uncertainty, double level) {
  const Spread spread = spread_of(scenario, uncertainty);
  const Slopes slopes = slopes_of(scenario, prediction, uncertainty, spread);
  const double width = t4_half_width(level);
  Interval result;
  result.level = level;
  result.earned = spread.earned;
  result.basis = spread.basis;
  result.time_scale =
      portable::hypot(std::sqrt(variance_of(slopes.time, spread)), spread.time_noise);
  const double time_factor = portable::exp(width * result.time_scale);
  result.time_low = prediction.sec_per_iter / time_factor;
  result.time_high = prediction.sec_per_iter * time_factor;
  result.memory_scale =
      portable::hypot(std::sqrt(variance_of(slopes.printed, spread)), spread.memory_noise);
  const double memory_factor = portable::exp(width * result.memory_scale);
  result.memory_low = prediction.peak_memory / memory_factor;
  // Not clipped at the card: that the run may need more than there is, is what the odds say, too.
  result.memory_high = prediction.peak_memory * memory_factor;
  const double need_scale = portable::hypot(std::sqrt(variance_of(slopes.needed, spread)),
                                            portable::hypot(spread.memory_noise, kCardScatter));
  result.memory_room = portable::log(scenario.device.memory.value / most_needed(prediction));
  result.fits_probability = t4_below(result.memory_room / need_scale);
  result.time_prior = prior_scale(slopes.time, uncertainty);
  result.time_unmeasured = scenario.device.errors.unmeasured;
  result.memory_prior = prior_scale(slopes.printed, uncertainty);
  result.slopes = slopes.time;
  result.sources = largest_sources(slopes.time, spread);
  return result;
}

void state_error(const Interval& interval, Prediction& prediction) {
  if (interval.earned || interval.expected_error() <= prediction.relative_error) return;
  prediction.relative_error = interval.expected_error();
  prediction.error_basis = interval.basis;
}

}  // namespace prequel
