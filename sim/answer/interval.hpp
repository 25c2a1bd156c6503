#pragma once

/// How sure an answer is: intervals of time and memory from what no file knows exactly.

#include <string>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/answer/uncertainty.hpp"

namespace prequel {

/// A part of the variance of ln seconds.
struct SpreadSource {
  std::string name;  ///< of a constant, or "run to run"
  double share{};
};

/// ln seconds and ln bytes scatter as Student t with 4 degrees of freedom around the prediction,
/// scale² = slopes·covariance·slopes + noise².
struct Interval {
  double level{};
  Seconds time_low, time_high;
  Bytes memory_low, memory_high;
  double fits_probability{};
  std::vector<SpreadSource> sources;  ///< the three largest
  double time_scale{};                ///< of ln seconds, above the prediction
  double time_scale_below{};          ///< likewise below it: parts that add up cannot vanish
  double memory_scale{};              ///< of ln bytes
  double time_prior{};                ///< that of ln seconds by all constants at the priors' spread
  double time_unmeasured{};           ///< that by kernels that nobody measured on the device
  double memory_prior{};              ///< of ln bytes, as printed
  double memory_room{};               ///< ln of the device's memory over what is needed
  Deviations slopes{};                ///< of ln seconds over each u
  bool earned{};                      ///< as of the spread
  bool edited{};                      ///< of constants that are not as shipped
  std::string basis;

  /// Expected |ln(measured / predicted)| of seconds: the mean of |t| with 4 degrees of freedom
  /// is 1.
  [[nodiscard]] double expected_error() const { return time_scale; }
  /// The scale on the side of a measured time, whose ln(predicted / measured) is `log_error`.
  [[nodiscard]] double scale_towards(double log_error) const {
    return log_error > 0 ? time_scale_below : time_scale;
  }
};

/// Returns the verdict of a plan that fits with that probability: `tight` between 10 and 90 %, and
/// above where its peak leaves the allocator no room for its cache, so that runs may thrash.
MemoryVerdict verdict_of(double fits_probability, MemoryVerdict by_peak);
/// Gives the prediction the verdict of its probability of fitting, in place of that by its peak
/// alone, and warns where that is tight.
void state_verdict(const Interval& interval, Prediction& prediction);

/// The error that a stack states was earned on its own tables; elsewhere the interval's holds where
/// it is wider, or where constants were edited.
void state_error(const Interval& interval, Prediction& prediction);

inline constexpr double kIntervalLevel = 0.8;
inline constexpr double kCardScatter = 0.06;  ///< of what a device can really give, of its memory

Interval interval(const Scenario& scenario, const Prediction& prediction,
                  const Uncertainty& uncertainty, double level = kIntervalLevel);

/// That of the interval alone, in a fraction of its time.
double fits_probability(const Scenario& scenario, const Prediction& prediction,
                        const Uncertainty& uncertainty);

}  // namespace prequel
