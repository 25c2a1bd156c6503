#include "sim/run/reserve.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "models/stack/release.hpp"
#include "sim/run/expected_reservation.hpp"
#include "sim/run/failure_process.hpp"

namespace prequel {
namespace {

constexpr std::size_t kCurvePoints = 60;
constexpr int kFirstAsyncYear = 2024;  // PyTorch 2.4 and NeMo 2.0 save beside training

/// Whole steps between two checkpoints, s of work.
double whole_steps(double interval, Seconds step) {
  return std::max(1.0, std::round(interval / step.value)) * step.value;
}

double mtbf_of(const Reservation& reservation) {
  const double rate = stop_rates(reservation).failures;
  return rate > 0 ? 1 / rate : kNever;
}

/// The interval that loses the least, but no longer than the work.
double usual_interval(const Reservation& reservation) {
  const double mtbf = mtbf_of(reservation);
  const double best = mtbf < kNever ? best_interval(reservation.saving, mtbf) : reservation.work;
  return std::min(best, reservation.work);
}

/// Replaces the site's figures by what the flags for the closed form say.
void take_said_failures(const RunQuestion& question, Reservation& reservation) {
  Reliability& rates = reservation.reliability;
  if (question.mtbf) {
    rates.node_failures = 1 / (question.mtbf->value * real(reservation.nodes));
    rates.rate_sigma = rates.job_failures = rates.least_job_failures = 0;
  }
  if (question.restart.value > 0) {
    rates.restart = question.restart.value;
    rates.detect = std::min(rates.detect, rates.restart);
  }
}

SavingTimes times_of(const Scenario& scenario, const Storage& storage, const RunQuestion& question,
                     Saving saving) {
  const Bytes size = checkpoint_size(scenario.model, scenario.plan, scenario.software);
  return saving_times({size, scenario.plan.nodes, scenario.plan.gpus, scenario.device.host_link,
                       question.checkpoint_bandwidth.value_or(BytesPerSecond{})},
                      storage, saving);
}

}  // namespace

Saving usual_saving(const std::string& software) {
  const auto year = year_of(release_of(software));
  return year && *year < kFirstAsyncYear ? Saving::sync : Saving::async;
}

Reservation reservation_of(const Scenario& scenario, const TrainingRun& run, double step_scale,
                           const Site& site, const RunQuestion& question, Saving saving) {
  const Plan& plan = scenario.plan;
  const ReservationQuestion& asked = question.reservation;
  Reservation reservation;
  reservation.nodes = plan.nodes;
  reservation.spares = asked.spares.value_or(0);
  const std::int64_t in_domain = scenario.cluster.fabric->domain_nodes();
  if (in_domain > 1) reservation.domains = (plan.nodes + in_domain - 1) / in_domain;
  reservation.replicas = plan.dp;
  reservation.micro_batches = plan.micro_batches();
  reservation.work = (run.training + run.evaluation).value;
  reservation.evaluation_share = run.evaluation.value / reservation.work;
  reservation.length = asked.length ? asked.length->value : kNever;
  reservation.step_scale = step_scale;
  reservation.walltime = asked.walltime.value;
  reservation.queue = asked.queue.value;
  reservation.without_spare = asked.without_spare;
  reservation.reliability = site.reliability;
  take_said_failures(question, reservation);
  const Reliability& rates = reservation.reliability;
  reservation.saving = times_of(scenario, site.storage, question, saving);
  reservation.first_start = std::max(0.0, rates.restart - rates.detect);
  const double interval = question.checkpoint_interval ? question.checkpoint_interval->value
                                                       : usual_interval(reservation);
  reservation.saving.interval = whole_steps(interval, run.sec_per_iter);
  if (!asked.spares) reservation.pool = plan.nodes;  // never empty
  const double drain = reservation.saving.stall + reservation.saving.write;
  if (reservation.walltime > 0 && reservation.walltime < 2 * (rates.restart + drain)) {
    throw InputError("walltime", fmt::format("{:.0f} s leave no time to train, as a start and a "
                                             "checkpoint take {:.0f} s; a day would do",
                                             reservation.walltime, rates.restart + drain));
  }
  return reservation;
}

ReservationAnswer reserve(const Scenario& scenario, const Prediction& prediction,
                          const TrainingRun& run, double step_scale, const Site& site,
                          const RunQuestion& question) {
  const ReservationQuestion& asked = question.reservation;
  ReservationAnswer answer;
  answer.site = site;
  if (asked.pue) answer.site.facility.pue = *asked.pue;
  answer.own_figures = scenario.cluster.site.has_figures();
  answer.saving = asked.saving.value_or(usual_saving(scenario.software.name));
  answer.checkpoint = checkpoint_size(scenario.model, scenario.plan, scenario.software);
  const auto job = [&](const Site& at, Saving saving) {
    return reservation_of(scenario, run, step_scale, at, question, saving);
  };
  const Reservation& reservation = answer.reservation = job(answer.site, answer.saving);
  answer.mtbf = mtbf_of(reservation);
  answer.best_interval = usual_interval(reservation);
  answer.expected_ettr = expected_ettr(reservation);
  answer.spares_for_99 = spares_for(reservation, 0.01);
  answer.lacking = chance_of_lacking(reservation);
  const std::int64_t in_node = std::min(scenario.cluster.devices_per_node, scenario.plan.gpus);
  const PlugPower plug = plug_power(scenario.device, site.facility);
  answer.nameplate = real(in_node) * scenario.device.power;
  ReplicationQuestion many{static_cast<std::size_t>(asked.replications), asked.seed, {}, 0, {}};
  many.tokens = run.tokens;
  if (plug.busy > 0) {
    answer.power = node_power(plug, in_node, computing_share(prediction));
    many.power = *answer.power;
  }

  const auto consider = [&](std::string change, const Reservation& other) {
    answer.alternatives.push_back({std::move(change), replications(other, many)});
  };
  if (asked.spares) {
    Reservation spare = reservation;
    ++spare.spares;
    consider("one more spare", spare);
  }
  if (answer.saving == Saving::sync) {
    consider("saving beside training", job(answer.site, Saving::async));
  }
  if (site.reliability.unattended_share > 0) {
    Reservation automatic = reservation;
    automatic.reliability.unattended_share = 0;
    consider("automatic restarts", automatic);
  }
  many.times = kCurvePoints;
  answer.played = replications(reservation, many);
  return answer;
}

}  // namespace prequel
