#include "cli/predict/reservation_format.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/text.hpp"
#include "hw/base/units.hpp"

namespace prequel {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr double kPer1000NodeDays = 1000 * kDay;

Band scaled_band(const Band& band, double factor) {
  return {factor * band.p10, factor * band.p50, factor * band.p90};
}

/// The amount with three digits that count, without an exponent where people need none.
std::string amount_of(double value) {
  if (!std::isfinite(value)) return "never";
  if (std::abs(value) >= 1e6) return fmt::format("{:.3g}", value);
  if (std::abs(value) >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string span_of(double seconds) {
  if (!std::isfinite(seconds)) return "never";
  if (seconds >= 2 * kDay) return fmt::format("{:.1f} days", seconds / kDay);
  if (seconds >= 2 * kHour) return fmt::format("{:.1f} h", seconds / kHour);
  if (seconds >= 120) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} s", seconds);
}

void add_band(TextTable& table, const std::string& name, const Band& band) {
  table.row(name, amount_of(band.p10), amount_of(band.p50), amount_of(band.p90));
}

/// Money of all GPUs that are paid for, spares included.
std::optional<Band> cost_of(const Plan& plan, const ReservationAnswer& answer,
                            const RunQuestion& question) {
  if (!(question.price > 0)) return std::nullopt;
  const Reservation& reservation = answer.reservation;
  const double gpus =
      real(plan.gpus) / real(plan.nodes) * real(reservation.nodes + reservation.spares);
  return scaled_band(answer.played.paid, gpus * question.price / kHour);
}

/// kWh that the building takes for the nodes.
std::optional<Band> kwh_of(const ReservationAnswer& answer) {
  if (!answer.power) return std::nullopt;
  return scaled_band(answer.played.joules, answer.site.facility.pue / kJoulesPerKwh);
}

double beside_nodes(const ReservationAnswer& answer) {
  return 1 + answer.site.facility.network_share + answer.site.facility.storage_share;
}

std::string saving_text(const ReservationAnswer& answer) {
  const SavingTimes& saving = answer.reservation.saving;
  std::string text = fmt::format("  saving {} GB {}: every {}, training stands still for {}",
                                 amount_of(answer.checkpoint.value / kGB),
                                 kWordsOf<Saving>[static_cast<std::size_t>(answer.saving)],
                                 span_of(saving.interval), span_of(saving.stall));
  if (saving.write > 0) text += fmt::format(", the write takes {}", span_of(saving.write));
  text += fmt::format("; best interval {}\n", span_of(answer.best_interval));
  if (saving.write > saving.interval) {
    text += "  a write takes longer than the interval: saving waits for it\n";
  }
  return text;
}

std::string assumed_text(const ReservationAnswer& answer) {
  const Reliability& rates = answer.reservation.reliability;
  return fmt::format(
      "  class {}{}: {} node failures and {} planned stops per 1,000 node-days, a failure every "
      "{}, "
      "restart {}{}\n",
      answer.site.name, answer.own_figures ? " with the cluster's own figures" : "",
      amount_of(rates.node_failures * kPer1000NodeDays),
      amount_of(rates.planned_stops * kPer1000NodeDays), span_of(answer.mtbf),
      span_of(rates.restart),
      rates.unattended_share > 0
          ? fmt::format(", {:.0f} % of failures wait {} for somebody", 100 * rates.unattended_share,
                        span_of(rates.unattended))
          : "");
}

std::string losses_text(const ReservationAnswer& answer) {
  const LossTimes& lost = answer.played.lost;
  const double all = std::accumulate(lost.begin(), lost.end(), 0.0);
  if (!(all > 0)) return "  no hour is lost\n";
  std::vector<std::size_t> order(kLosses);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return lost[i]; });
  TextTable table({"Hours lost", "mean", "share", ""});
  for (const std::size_t loss : order) {
    if (lost[loss] < 1e-3 * all) continue;
    constexpr int kBarWidth = 24;
    const std::string drawn = bar(lost[loss] / lost[order.front()], kBarWidth);
    const std::size_t width = display_width(drawn);
    table.row(spaced(kWordsOf<Loss>[loss]), amount_of(lost[loss] / kHour),
              percent(lost[loss] / all, 0) + " %",
              drawn + std::string(kBarWidth - std::min<std::size_t>(kBarWidth, width), ' '));
  }
  return "\n" + table.text(0, "");
}

std::string alternatives_text(const ReservationAnswer& answer, bool reserved) {
  TextTable table(reserved
                      ? std::vector<std::string>{"What would help", "days", "in time", "tokens"}
                      : std::vector<std::string>{"What would help", "days"});
  const auto add = [&](const std::string& name, const PlayedReservation& played) {
    std::vector<std::string> row{name, amount_of(played.finished.p50 / kDay)};
    if (reserved) {
      row.push_back(percent(played.completes, 0) + " %");
      row.push_back(amount_of(played.tokens.p50));
    }
    table.add(row);
  };
  add("as it is", answer.played);
  for (const Alternative& one : answer.alternatives) add(one.change, one.played);
  return "\n" + table.text(0, "");
}

}  // namespace

std::string reservation_text(const Plan& plan, const ReservationAnswer& answer,
                             const RunQuestion& question, const Terminal& terminal) {
  const ReservationQuestion& asked = question.reservation;
  const Reservation& reservation = answer.reservation;
  const PlayedReservation& played = answer.played;
  const std::string title = fmt::format(
      "Reservation of {}{}{}", counted(reservation.nodes + reservation.spares, "node"),
      reservation.spares > 0 ? fmt::format(", {} of them spare", reservation.spares) : "",
      asked.length ? fmt::format(", for {}", span_of(asked.length->value)) : "");
  std::string text = inked(terminal, Ink::bold, title) + "\n";
  TextTable table({"", "10 %", "median", "90 %"});
  add_band(table, fmt::format("days to {:.3g} tokens", *question.tokens),
           scaled_band(played.finished, 1 / kDay));
  if (asked.length) add_band(table, "tokens by the end", played.tokens);
  add_band(table, "stops", played.stops);
  add_band(table, "effective time (ETTR), %", scaled_band(played.ettr, 100));
  add_band(table, "goodput, tokens/s", played.goodput);
  add_band(table, "utilisation of what is paid, %", scaled_band(played.utilisation, 100));
  if (const auto cost = cost_of(plan, answer, question)) add_band(table, "cost", *cost);
  if (const auto kwh = kwh_of(answer)) {
    add_band(table, fmt::format("kWh of the nodes, PUE {:.3g}", answer.site.facility.pue), *kwh);
  }
  text += table.text(0, "");
  if (asked.length) {
    text += fmt::format("  in time with a probability of {:.0f} %\n", 100 * played.completes);
  }
  text += assumed_text(answer) + saving_text(answer);
  text +=
      asked.spares
          ? fmt::format("  {} for 99 %: with {}, a node is lacking {:.1f} % of the time\n",
                        counted(answer.spares_for_99, "spare"), reservation.spares,
                        100 * answer.lacking)
          : fmt::format(
                "  no spares said: failed nodes are replaced from a pool of the site that is not "
                "paid "
                "for; {} would do for 99 %\n",
                answer.spares_for_99);
  if (answer.power) {
    text += fmt::format(
        "  a node draws {:.0f} W at the plug in a step, {:.0f} W waiting; switches and storage add "
        "{:.0f} %\n",
        answer.power->step, answer.power->waiting, 100 * (beside_nodes(answer) - 1));
  }
  text += losses_text(answer);
  if (!answer.alternatives.empty()) text += alternatives_text(answer, asked.length.has_value());
  return text;
}

std::string over_nodes_text(const std::vector<NodesPoint>& points, const RunQuestion& question) {
  TextTable table({"nodes", "GPUs", "s/iteration", "tokens/s", "ETTR", "that count", "a GPU",
                   "days", question.reservation.length ? "in time" : "", ""});
  double most = 0;
  for (const NodesPoint& point : points) {
    if (point.reservation) most = std::max(most, point.reservation->played.goodput.p50);
  }
  std::string refused;
  for (const NodesPoint& point : points) {
    if (!point.reservation) {
      refused += fmt::format("  {} nodes: {}\n", point.nodes, point.refused);
      continue;
    }
    const PlayedReservation& played = point.reservation->played;
    const double counts = played.goodput.p50;
    table.row(point.nodes, point.gpus, fmt::format("{:.3g}", point.sec_per_iter),
              amount_of(point.tokens_per_sec), percent(played.ettr.p50) + " %", amount_of(counts),
              amount_of(counts / real(point.gpus)), amount_of(played.finished.p50 / kDay),
              question.reservation.length ? percent(played.completes, 0) + " %" : "",
              bar(most > 0 ? counts / most : 0, 20));
  }
  return "Tokens a second against nodes\n" + table.text(0, "") + refused;
}

Json band_json(const Band& band) {
  return {finite_json(band.p10), finite_json(band.p50), finite_json(band.p90)};
}

Json over_nodes_json(const std::vector<NodesPoint>& points) {
  return list_json(points, [](const NodesPoint& point) -> Json {
    if (!point.reservation) return {{"nodes", point.nodes}, {"refused", point.refused}};
    const PlayedReservation& played = point.reservation->played;
    return {{"nodes", point.nodes},
            {"gpus", point.gpus},
            {"sec_per_iter", point.sec_per_iter},
            {"tokens_per_sec", point.tokens_per_sec},
            {"ettr", band_json(played.ettr)},
            {"effective_tokens_per_sec", band_json(played.goodput)},
            {"days", band_json(scaled_band(played.finished, 1 / kDay))},
            {"completes_probability", played.completes}};
  });
}

Json reservation_json(const Plan& plan, const ReservationAnswer& answer,
                      const RunQuestion& question) {
  const ReservationQuestion& asked = question.reservation;
  const Reservation& reservation = answer.reservation;
  const PlayedReservation& played = answer.played;
  const auto in_days = [](const auto& seconds) { return seconds.value / kDay; };
  Json lost = Json::object();
  for (std::size_t i = 0; i < kLosses; ++i) lost[kWordsOf<Loss>[i]] = played.lost[i] / kHour;
  Json alternatives = list_json(answer.alternatives, [](const Alternative& one) {
    return Json{{"change", one.change},
                {"days", band_json(scaled_band(one.played.finished, 1 / kDay))},
                {"completes_probability", one.played.completes},
                {"tokens_by_end", band_json(one.played.tokens)}};
  });
  Json json{{"class", answer.site.name},
            {"own_figures", answer.own_figures},
            {"nodes", reservation.nodes},
            {"spares", reservation.spares},
            {"pool", reservation.pool > 0},
            {"reserved_days", optional_json(asked.length, in_days)},
            {"days", band_json(scaled_band(played.finished, 1 / kDay))},
            {"completes_probability", played.completes},
            {"tokens_by_end", band_json(played.tokens)},
            {"stops", band_json(played.stops)},
            {"ettr", band_json(played.ettr)},
            {"goodput_tokens_per_sec", band_json(played.goodput)},
            {"utilisation", band_json(played.utilisation)}};
  json["cost"] = optional_json(cost_of(plan, answer, question), band_json);
  const auto kwh = kwh_of(answer);
  json["kwh"] = optional_json(kwh, band_json);
  if (kwh) {
    json["kwh_with_network_and_storage"] = band_json(scaled_band(*kwh, beside_nodes(answer)));
    json["pue"] = answer.site.facility.pue;
    json["watts_per_node"] = {{"step", answer.power->step}, {"waiting", answer.power->waiting}};
    json["nameplate_kwh"] = band_json(
        scaled_band(played.elapsed, real(reservation.nodes) * answer.nameplate / kJoulesPerKwh));
  }
  json["lost_hours"] = std::move(lost);
  json["repeated_hours"] = played.repeated / kHour;
  json["mean_ettr"] = played.mean_ettr;
  json["expected_ettr"] = answer.expected_ettr;
  json["mtbf_s"] = finite_json(answer.mtbf);
  const SavingTimes& saving = reservation.saving;
  json["saving"] = {{"mode", kWordsOf<Saving>[static_cast<std::size_t>(answer.saving)]},
                    {"size_bytes", answer.checkpoint.value},
                    {"interval_s", saving.interval},
                    {"stall_s", saving.stall},
                    {"write_s", saving.write},
                    {"load_s", saving.load}};
  json["best_interval_s"] = answer.best_interval;
  json["spares_for_99"] = answer.spares_for_99;
  json["lacking_share"] = answer.lacking;
  json["alternatives"] = std::move(alternatives);
  json["curve"] = {{"days", list_json(played.times, [](double time) { return time / kDay; })},
                   {"tokens", list_json(played.tokens_at, band_json)}};
  json["replications"] = asked.replications;
  json["seed"] = asked.seed;
  return json;
}

}  // namespace prequel
