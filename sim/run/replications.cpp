#include "sim/run/replications.hpp"

#include <algorithm>
#include <cmath>

#include "hw/base/parallel.hpp"
#include "hw/base/units.hpp"
#include "sim/run/failure_process.hpp"

namespace prequel {
namespace {

constexpr std::size_t kAtOnce = 16;  // replications of one task

/// The value below which a share of the ascending ones lies.
double below_share(const std::vector<double>& ascending, double share) {
  const auto index = static_cast<std::size_t>(share * static_cast<double>(ascending.size()));
  return ascending[std::min(index, ascending.size() - 1)];
}

template <class Value>
Band band_over(const std::vector<Replication>& outcomes, Value value) {
  std::vector<double> values;
  values.reserve(outcomes.size());
  for (const Replication& outcome : outcomes) values.push_back(value(outcome));
  return band_of(std::move(values));
}

template <class Value>
double mean_over(const std::vector<Replication>& outcomes, Value value) {
  double sum = 0;
  for (const Replication& outcome : outcomes) sum += value(outcome);
  return sum / static_cast<double>(outcomes.size());
}

/// Steps that are slow count as long as they take: so published shares count them.
double ettr_of(const Replication& outcome) {
  const double slow = outcome.lost[static_cast<std::size_t>(Loss::fail_slow)];
  return outcome.elapsed > 0 ? (outcome.productive + slow) / outcome.elapsed : 0;
}

/// Times at which the curve is told: over the reservation, or as long as most need.
std::vector<double> curve_times(const Reservation& reservation, std::size_t count) {
  constexpr double kUsualLoss = 1.25;
  const double end =
      reservation.length < kNever ? reservation.length : kUsualLoss * reservation.work;
  std::vector<double> times(count);
  for (std::size_t i = 0; i < count; ++i) {
    times[i] = end * static_cast<double>(i + 1) / static_cast<double>(count);
  }
  return times;
}

}  // namespace

double TokensOfWork::at(double work) const {
  if (points.empty()) return work;
  const auto above =
      std::ranges::find_if(points, [&](const auto& one) { return one.first >= work; });
  if (above == points.end()) return points.back().second;
  const auto below = above == points.begin() ? std::pair(0.0, 0.0) : *std::prev(above);
  const double part = (work - below.first) / (above->first - below.first);
  return below.second + part * (above->second - below.second);
}

Band band_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {below_share(values, 0.1), below_share(values, 0.5), below_share(values, 0.9)};
}

double PlayedReservation::finished_by(double share) const {
  return below_share(all_finished, share);
}

double PlayedReservation::share_finished_by(double seconds) const {
  const auto late = std::ranges::upper_bound(all_finished, seconds);
  return static_cast<double>(late - all_finished.begin()) /
         static_cast<double>(all_finished.size());
}

PlayedReservation replications(const Reservation& reservation,
                               const ReplicationQuestion& question) {
  PlayedReservation played;
  played.times = curve_times(reservation, question.times);
  const std::size_t count = question.replications, points = played.times.size();
  std::vector<Replication> outcomes(count);
  std::vector<double> work_at(count * points);
  parallel_for((count + kAtOnce - 1) / kAtOnce, [&](std::size_t task) {
    for (std::size_t i = task * kAtOnce; i < std::min(count, (task + 1) * kAtOnce); ++i) {
      outcomes[i] = play(reservation, question.seed, i, played.times,
                         std::span(work_at).subspan(i * points, points));
    }
  });

  const double nodes = real(reservation.nodes);
  const double all_nodes = nodes + real(reservation.spares);
  const bool reserved = reservation.length < kNever;
  const auto paid = [&](const Replication& one) {
    return reserved ? reservation.length : one.elapsed;
  };
  const NodePower& power = question.power;
  played.finished = band_over(outcomes, [](const Replication& one) { return one.finished; });
  for (const Replication& outcome : outcomes) played.all_finished.push_back(outcome.finished);
  std::ranges::sort(played.all_finished);
  played.completes = mean_over(outcomes, [&](const Replication& one) {
    return one.finished <= reservation.length && one.finished < kNever ? 1.0 : 0.0;
  });
  played.elapsed = band_over(outcomes, [](const Replication& one) { return one.elapsed; });
  const TokensOfWork& tokens = question.tokens;
  played.tokens = band_over(outcomes, [&](const Replication& one) { return tokens.at(one.work); });
  played.stops = band_over(outcomes, [](const Replication& one) { return real(one.stops); });
  played.ettr = band_over(outcomes, ettr_of);
  played.goodput = band_over(outcomes, [&](const Replication& one) {
    return one.elapsed > 0 ? tokens.at(one.work) / one.elapsed : 0;
  });
  played.utilisation = band_over(outcomes, [&](const Replication& one) {
    return nodes * one.productive / (all_nodes * std::max(paid(one), 1e-9));
  });
  played.joules = band_over(outcomes, [&](const Replication& one) {
    return nodes * (power.step * one.computing + power.waiting * (one.elapsed - one.computing)) +
           real(reservation.spares) * power.waiting * one.elapsed;
  });
  played.paid = band_over(outcomes, paid);
  for (std::size_t i = 0; i < kLosses; ++i) {
    played.lost[i] = mean_over(outcomes, [&](const Replication& one) { return one.lost[i]; });
  }
  played.repeated = mean_over(outcomes, [](const Replication& one) { return one.repeated; });
  std::vector<Replication> ended;
  std::ranges::copy_if(outcomes, std::back_inserter(ended),
                       [](const Replication& one) { return one.finished < kNever; });
  played.mean_finished =
      ended.empty() ? kNever
                    : mean_over(ended, [](const Replication& one) { return one.finished; });
  played.mean_ettr = mean_over(outcomes, ettr_of);
  const double variance = mean_over(outcomes, [&](const Replication& one) {
    const double off = ettr_of(one) - played.mean_ettr;
    return off * off;
  });
  played.ettr_error = std::sqrt(variance / static_cast<double>(count));

  for (std::size_t point = 0; point < points; ++point) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = tokens.at(work_at[i * points + point]);
    played.tokens_at.push_back(band_of(std::move(values)));
  }
  return played;
}

}  // namespace prequel
