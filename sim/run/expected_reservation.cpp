#include "sim/run/expected_reservation.hpp"

#include <algorithm>
#include <cmath>

#include "hw/base/portable_math.hpp"
#include "hw/base/units.hpp"
#include "sim/run/checkpointing.hpp"
#include "sim/run/draws.hpp"

namespace prequel {
namespace {

double mean_of_lognormal(double median, double sigma) {
  return median * portable::exp(sigma * sigma / 2);
}

/// The probability of at most `most` of a Poisson number.
double poisson_at_most(std::int64_t most, double mean) {
  double term = portable::exp(-mean), sum = term;
  for (std::int64_t k = 1; k <= most; ++k) {
    term *= mean / real(k);
    sum += term;
  }
  return std::min(1.0, sum);
}

/// Beyond, e^−mean is no double; a normal number is as good there.
constexpr double kMostPoissonMean = 600;

double chance_of_enough(std::int64_t spares, double mean) {
  if (mean > kMostPoissonMean) {
    const double z = (real(spares) + 0.5 - mean) / std::sqrt(mean);
    return 1 / (1 + portable::exp(-1.702 * z));  // Φ by a logistic curve, within 0.01
  }
  return poisson_at_most(spares, mean);
}

}  // namespace

StopRates stop_rates(const Reservation& reservation) {
  const Reliability& rates = reservation.reliability;
  const double nodes = real(reservation.nodes);
  const double of_nodes = nodes * rates.node_failures;
  return {of_nodes + std::max(rates.job_failures * of_nodes, rates.least_job_failures),
          nodes * rates.planned_stops, nodes * rates.silent_corruption};
}

double mean_restart(const Reservation& reservation) {
  const Reliability& rates = reservation.reliability;
  const double of_nodes = real(reservation.nodes) * rates.node_failures;
  const double of_job = std::max(rates.job_failures * of_nodes, rates.least_job_failures);
  const double job_share = of_job > 0 ? of_job / (of_nodes + of_job) : 0;
  return mean_of_lognormal(rates.restart, rates.restart_sigma) + reservation.saving.load +
         reservation.queue + job_share * rates.hang_share * rates.watchdog +
         rates.unattended_share * rates.unattended;
}

double expected_stretch(const SavingTimes& saving, double mtbf, double restart) {
  if (!(mtbf < 1e30)) {
    return (std::max(saving.interval, saving.write) + saving.stall) / saving.interval;
  }
  const double beyond = std::max(0.0, saving.write - saving.interval);  // waiting for a write
  const FailureModel failures{{mtbf}, {saving.stall + beyond}, {restart + saving.write}};
  return expected_time({1.0}, {saving.interval}, failures).value;
}

double best_interval(const SavingTimes& saving, double mtbf) {
  const FailureModel failures{{mtbf}, {saving.stall}, {}};
  if (saving.write <= 0) return daly_interval(failures).value;
  return std::max(saving.write, young_interval(failures).value);
}

double speed_with_slow_nodes(const Reservation& reservation) {
  const Reliability& rates = reservation.reliability;
  if (!(rates.fail_slow > 0)) return 1;
  constexpr int kSteps = 400;
  const double sigma = portable::log(rates.slow_p90 / rates.slow_median) / draws::kNormalP90;
  double duration = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double z = draws::normal_quantile((i + 0.5) / kSteps);
    const double drawn = rates.slow_median * draws::exponential_of(sigma * z);
    duration += std::min(rates.slow_longest, drawn) / kSteps;
  }
  const double at_once = real(reservation.nodes) * rates.fail_slow * duration;
  // The largest of a Poisson number of slowdowns is below s with probability
  // e^(−at_once·(1 − G(s))), G log-uniform. The share of those is walked in equal steps.
  const double range = portable::log(rates.slowdown_high / rates.slowdown_low);
  double below = portable::exp(-at_once), speed = below;
  for (int i = 1; i <= kSteps; ++i) {
    const double share = (i - 0.5) / kSteps;
    const double slower = rates.slowdown_low * portable::exp(range * share);
    const double chance = portable::exp(-at_once * (1 - real(i) / kSteps));
    speed += (chance - below) / (1 + slower);
    below = chance;
  }
  return speed;
}

double chance_of_lacking(const Reservation& reservation) {
  const Reliability& rates = reservation.reliability;
  const double domains = real(reservation.domains);
  const double mean = real(reservation.nodes) * rates.node_failures * rates.repair / domains;
  const std::int64_t spares = reservation.spares + reservation.pool;
  const std::int64_t each = spares / reservation.domains;
  const double with_more = real(spares % reservation.domains);
  return 1 - portable::pow(chance_of_enough(each, mean), domains - with_more) *
                 portable::pow(chance_of_enough(each + 1, mean), with_more);
}

std::int64_t spares_for(const Reservation& reservation, double chance) {
  Reservation with = reservation;
  with.pool = 0;
  const auto enough = [&](std::int64_t spares) {
    with.spares = spares;
    return chance_of_lacking(with) <= chance;
  };
  std::int64_t low = -1, high = 1;
  while (!enough(high) && high < reservation.nodes * 16) high *= 2;
  if (enough(0)) return 0;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

double expected_ettr(const Reservation& reservation) {
  const Reliability& rates = reservation.reliability;
  const StopRates stops = stop_rates(reservation);
  const SavingTimes& saving = reservation.saving;
  const double restart = mean_restart(reservation);
  const double mtbf = stops.failures > 0 ? 1 / stops.failures : 1e31;
  double stretch = expected_stretch(saving, mtbf, restart);
  const double start = mean_of_lognormal(rates.restart, rates.restart_sigma) - rates.detect;
  const double drained = saving.stall + saving.write + std::max(0.0, start) + saving.load;
  stretch += stops.planned * drained +
             stops.corruptions * (rates.corruption_latency + saving.interval / 2 + restart);
  if (reservation.walltime > 0) {
    stretch += (drained + reservation.queue) / reservation.walltime;
  }
  double ettr = 1 / stretch;
  ettr *= 1 - reservation.evaluation_share;
  if (reservation.without_spare != WithoutSpare::shrink) {
    ettr *= 1 - chance_of_lacking(reservation);
  }
  return ettr;
}

double expected_progress(const Reservation& reservation) {
  return expected_ettr(reservation) * speed_with_slow_nodes(reservation);
}

}  // namespace prequel
