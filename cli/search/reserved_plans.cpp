#include "cli/search/reserved_plans.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "cli/json/record_table.hpp"
#include "cli/predict/reservation_format.hpp"
#include "models/layers/parameters.hpp"
#include "sim/run/expected_reservation.hpp"
#include "sim/run/failure_process.hpp"

namespace prequel {
namespace {

constexpr double kJoulesAKwh = 3.6e6;
constexpr double kUsualRisk = 0.9;
constexpr std::size_t kSearchReplications = 400;

RunQuestion question_of(const SearchOptions& options) {
  RunQuestion question;
  question.tokens = options.tokens;
  question.reservation = options.reservation;
  question.reservation.length.reset();
  return question;
}

double risk_of(const SearchOptions& options) {
  return options.risk.value_or(kUsualRisk);
}

ReservedPlan play_plan(const SearchInputs& inputs, const Site& site, const SearchOptions& options,
                       const FoundPlan& found, double step_scale, double price) {
  const Scenario scenario = scenario_of(inputs, found.plan, found.shape);
  const Prediction prediction = predict(scenario);
  const RunQuestion question = question_of(options);
  const TrainingRun run = training_run(scenario, prediction, question, std::nullopt, 0);
  const Saving saving = question.reservation.saving.value_or(usual_saving(scenario.software.name));
  Reservation reservation = reservation_of(scenario, run, step_scale, site, question, saving);
  if (!question.reservation.spares) {
    reservation.spares = spares_for(reservation, 0.01);
    reservation.pool = 0;
  }
  ReplicationQuestion many{kSearchReplications, question.reservation.seed, {}, 0, {}};
  const std::int64_t in_node = std::min(scenario.cluster.devices_per_node, scenario.plan.gpus);
  const PlugPower plug = plug_power(scenario.device, site.facility);
  if (plug.busy > 0) many.power = node_power(plug, in_node, computing_share(prediction));
  const PlayedReservation played = replications(reservation, many);

  ReservedPlan plan;
  plan.nodes = reservation.nodes;
  plan.spares = reservation.spares;
  plan.expected_days = run.training.value / std::max(1e-9, expected_progress(reservation)) / kDay;
  plan.days = {played.finished.p10 / kDay, played.finished.p50 / kDay, played.finished.p90 / kDay};
  plan.days_at_risk = played.finished_by(risk_of(options)) / kDay;
  if (options.within) plan.in_time = played.share_finished_by(*options.within);
  const double hours = plan.days_at_risk * kDay / kHour;
  const double gpus = real(plan.nodes + plan.spares) * real(in_node);
  if (price > 0) plan.cost = hours * gpus * price;
  if (plug.busy > 0) {
    const double pue = question.reservation.pue.value_or(site.facility.pue);
    plan.kwh = played.joules.p50 * (plan.days_at_risk / plan.days.p50) * pue / kJoulesAKwh;
  }
  plan.value = plan.days_at_risk;
  if (options.objective == "cost" || options.objective == "gpu-hours") plan.value = hours * gpus;
  if (options.objective == "energy") plan.value = plan.kwh.value_or(hours * gpus);
  return plan;
}

}  // namespace

bool asks_for_reservations(const SearchOptions& options) {
  return options.tokens && ((options.within && options.risk) || options.reservation.is_asked() ||
                            options.objective == "days" || options.objective == "energy");
}

std::vector<double> counted_by_nodes(const SearchInputs& inputs, const Site& site,
                                     const SearchOptions& options, const Candidates& candidates) {
  const RunQuestion question = question_of(options);
  constexpr double kCheckpointBytes = 14;  // a parameter: weights of 16 bits and Adam's states
  const Bytes size{kCheckpointBytes * real(total_parameters(inputs.model))};
  const Saving saving = question.reservation.saving.value_or(usual_saving(inputs.software.name));
  const std::int64_t in_node = inputs.cluster.devices_per_node;
  std::set<std::int64_t> numbers;
  for (const Candidate& candidate : candidates.legal) numbers.insert(candidate.plan.nodes);
  std::vector<double> counted(numbers.empty() ? 0 : static_cast<std::size_t>(*numbers.rbegin()) + 1,
                              1.0);
  for (const std::int64_t nodes : numbers) {
    Reservation reservation;
    reservation.nodes = nodes;
    reservation.reliability = site.reliability;
    reservation.saving = saving_times({size, nodes, nodes * in_node, inputs.device.host_link, {}},
                                      site.storage, saving);
    const double rate = stop_rates(reservation).failures;
    reservation.saving.interval = rate > 0 ? best_interval(reservation.saving, 1 / rate) : kDay;
    reservation.spares = question.reservation.spares.value_or(nodes);
    counted[static_cast<std::size_t>(nodes)] = std::max(1e-6, expected_progress(reservation));
  }
  return counted;
}

std::vector<ReservedPlan> reserved_plans(const SearchInputs& inputs, const Site& site,
                                         const SearchOptions& options,
                                         const std::vector<FoundPlan>& plans,
                                         const std::vector<Interval>& intervals, double price) {
  const std::size_t count = std::min({plans.size(), intervals.size(), kReserved});
  std::vector<ReservedPlan> reserved(count);
  for (std::size_t i = 0; i < count; ++i) {
    reserved[i] = play_plan(inputs, site, options, plans[i], intervals[i].time_scale, price);
    reserved[i].rank = i;
  }
  const auto is_late = [&](const ReservedPlan& plan) {
    return plan.in_time && *plan.in_time < risk_of(options);
  };
  std::ranges::stable_sort(reserved, [&](const ReservedPlan& a, const ReservedPlan& b) {
    if (is_late(a) != is_late(b)) return is_late(b);
    return a.value < b.value;
  });
  return reserved;
}

std::string reserved_plans_text(const std::vector<ReservedPlan>& plans,
                                const SearchOptions& options, const std::string& maturity) {
  if (plans.empty()) return "";
  const std::string risk = fmt::format("{:.0f} %", 100 * risk_of(options));
  const CellText days = fixed_cell(1);
  const auto cost = [](const Json& value, const Json& /*record*/) {
    return value.is_null() ? "never" : fmt::format("{:.3g}", value.get<double>());
  };
  std::string text = fmt::format(
      "Played from the first hour to the last token, the best with a probability of {} first "
      "(site: {}; spares for 99 % unless said; cost and kWh of as many days)\n",
      risk, maturity);
  text += record_table(reserved_plans_json(plans),
                       {{"rank", "/rank"},
                        {"nodes", "/nodes"},
                        {"spares", "/spares"},
                        {"days: 10 %", "/days/0", days},
                        {"median", "/days/1", days},
                        {"90 %", "/days/2", days},
                        {"at " + risk, "/days_at_risk", days},
                        {"closed form", "/expected_days", days},
                        {"in time", "/completes_probability", percent_cell(0, " %")},
                        {"cost", "/cost", cost},
                        {"kWh", "/kwh", fixed_cell(0)}});
  if (options.within && plans.front().in_time && *plans.front().in_time < risk_of(options)) {
    text += fmt::format("  none of them is in time, within {:.4g} days, with a probability of {}\n",
                        *options.within / kDay, risk);
  }
  return text;
}

Json reserved_plans_json(const std::vector<ReservedPlan>& plans) {
  return list_json(plans, [](const ReservedPlan& plan) {
    Json row{{"rank", plan.rank + 1},
             {"nodes", plan.nodes},
             {"spares", plan.spares},
             {"days", band_json(plan.days)},
             {"days_at_risk", finite_json(plan.days_at_risk)},
             {"expected_days", finite_json(plan.expected_days)}};
    set_json(row, "completes_probability", plan.in_time);
    if (plan.cost) row["cost"] = finite_json(*plan.cost);
    if (plan.kwh) row["kwh"] = finite_json(*plan.kwh);
    return row;
  });
}

}  // namespace prequel
