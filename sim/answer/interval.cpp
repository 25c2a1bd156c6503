#include "sim/answer/interval.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "hw/base/portable_math.hpp"
#include "hw/base/student_t.hpp"
#include "sim/answer/slopes.hpp"

namespace prequel {
namespace {

constexpr std::size_t kShownSources = 3;

/// Returns the standard deviation from all constants at the priors' full spread.
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
    if (Uncertain(i) == Uncertain::all) {
      for (const NewPart& one : spread.news) {
        part -= one.variance;
        sources.push_back({one.what, one.variance / all});
      }
    }
    if (part > 0) sources.push_back({std::string(kUncertainNames[i]), part / all});
  }
  std::ranges::stable_sort(sources, std::greater{}, &SpreadSource::share);
  sources.resize(std::min(sources.size(), kShownSources));
  return sources;
}

/// The summands of a step that its host alone decides, and how sure they are.
struct HostPart {
  double share{};  ///< of the step
  double scale{};  ///< of the logarithm of this part
};

HostPart host_part(const Prediction& prediction, const Deviations& slopes, const Spread& spread) {
  Deviations of_host{};
  for (const Uncertain constant : {Uncertain::host, Uncertain::fixed}) {
    of_host[index_of(constant)] = std::max(0.0, slopes[index_of(constant)]);
  }
  const double moved = of_host[index_of(Uncertain::host)] + of_host[index_of(Uncertain::fixed)];
  const double booked =
      (prediction.breakdown.host + prediction.breakdown.other) / prediction.sec_per_iter.value;
  const double share = std::clamp(std::min(moved, booked), 0.0, 1.0);
  if (share <= 0) return {};
  return {share, std::sqrt(variance_of(of_host, spread)) / moved};
}

/// ln of the prediction over the low end. A doubt of a summand is a summand: what the host decides
/// falls to nothing at the least, the rest by its own doubt.
double half_width_below(const Prediction& prediction, const Deviations& slopes,
                        const Spread& spread, double width) {
  const HostPart host = host_part(prediction, slopes, spread);
  Deviations others = slopes;
  others[index_of(Uncertain::host)] = others[index_of(Uncertain::fixed)] = 0.0;
  const double scale = portable::hypot(std::sqrt(variance_of(others, spread)), spread.time_noise);
  const double rest_falls = -portable::expm1(-width * scale);
  const double host_falls = -host.share * portable::expm1(-width * host.scale);
  const double together = 1.0 - portable::hypot(rest_falls, host_falls);
  const double without_host = (1.0 - host.share) * (1.0 - rest_falls);
  return -portable::log(std::max({together, without_host, 1e-9}));
}

double most_needed(const Prediction& prediction) {
  double needed = 0.0;
  for (const StagePrediction& stage : prediction.stages) {
    needed = std::max(needed, stage.memory.needed().value);
  }
  return needed;
}

/// ln of the device's memory over what is needed, and how sure that is.
struct Room {
  double room{}, scale{};

  [[nodiscard]] double probability() const { return t4_below(room / scale); }
};

Room room_of(const Scenario& scenario, const Prediction& prediction, const Deviations& needed,
             const Spread& spread) {
  return {portable::log(scenario.device.memory.value / most_needed(prediction)),
          portable::hypot(std::sqrt(variance_of(needed, spread)),
                          portable::hypot(spread.memory_noise, kCardScatter))};
}

}  // namespace

double fits_probability(const Scenario& scenario, const Prediction& prediction,
                        const Uncertainty& uncertainty) {
  const Spread spread = spread_of(scenario, uncertainty);
  const MemorySlopes slopes = memory_slopes_of(scenario, prediction, uncertainty, spread);
  return room_of(scenario, prediction, slopes.needed, spread).probability();
}

Interval interval(const Scenario& scenario, const Prediction& prediction,
                  const Uncertainty& uncertainty, double level) {
  const Spread spread = spread_of(scenario, uncertainty);
  const MemorySlopes memory = memory_slopes_of(scenario, prediction, uncertainty, spread);
  const Deviations time = time_slopes_of(scenario, uncertainty, spread);
  const double width = t4_half_width(level);
  Interval result;
  result.level = level;
  result.earned = spread.earned;
  result.edited = !scenario.edited.empty();
  result.basis = spread.basis;
  result.time_scale = portable::hypot(std::sqrt(variance_of(time, spread)), spread.time_noise);
  const double time_factor = portable::exp(width * result.time_scale);
  const double below =
      std::min(width * result.time_scale, half_width_below(prediction, time, spread, width));
  result.time_scale_below = below / width;
  result.time_low = prediction.sec_per_iter / portable::exp(below);
  result.time_high = prediction.sec_per_iter * time_factor;
  result.memory_scale =
      portable::hypot(std::sqrt(variance_of(memory.printed, spread)), spread.memory_noise);
  const double memory_factor = portable::exp(width * result.memory_scale);
  result.memory_low = prediction.peak_memory / memory_factor;
  // Not clipped at the card: that the run may need more than there is, is what the odds say, too.
  result.memory_high = prediction.peak_memory * memory_factor;
  const Room room = room_of(scenario, prediction, memory.needed, spread);
  result.memory_room = room.room;
  result.fits_probability = room.probability();
  result.time_prior = prior_scale(time, uncertainty);
  result.time_unmeasured = scenario.device.errors.unmeasured;
  result.memory_prior = prior_scale(memory.printed, uncertainty);
  result.slopes = time;
  result.sources = largest_sources(time, spread);
  return result;
}

MemoryVerdict verdict_of(double fits_probability, MemoryVerdict by_peak) {
  constexpr double kSure = 0.9;
  if (fits_probability > kSure) {
    return by_peak == MemoryVerdict::fits ? MemoryVerdict::fits : MemoryVerdict::tight;
  }
  return fits_probability < 1.0 - kSure ? MemoryVerdict::oom : MemoryVerdict::tight;
}

void state_verdict(const Interval& interval, Prediction& prediction) {
  prediction.verdict = verdict_of(interval.fits_probability, prediction.verdict);
  if (prediction.verdict != MemoryVerdict::tight) return;
  prediction.warnings.push_back(
      fmt::format("memory is tight: this plan fits with a probability of {:.0f} %, and where it "
                  "does the allocator may have to free and retry, which can double the time",
                  100 * interval.fits_probability));
}

void state_error(const Interval& interval, Prediction& prediction) {
  const bool holds = !interval.edited && interval.expected_error() <= prediction.relative_error;
  if (interval.earned || holds) return;
  prediction.relative_error = interval.expected_error();
  prediction.error_basis = interval.basis;
}

}  // namespace prequel
