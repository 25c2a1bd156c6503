#include "cli/predict/training_run_format.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/text/table.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

std::string duration(Seconds time) {
  const double value = time.value;
  if (value >= 2 * kDay) return fmt::format("{:.1f} days", value / kDay);
  if (value >= 2 * kHour) return fmt::format("{:.1f} h", value / kHour);
  if (value >= 2 * kMinute) return fmt::format("{:.1f} min", value / kMinute);
  return fmt::format("{:.1f} s", value);
}

std::string cell(const std::optional<BatchTime>& time, const char* format) {
  return time ? fmt::format(fmt::runtime(format), time->sec_per_iter.value) : "-";
}

/// Sizes worth a line: the ends, doublings of the first, and where something changes.
bool is_notable(const RampCurve& curve, const BatchPoint& point) {
  const std::int64_t first = curve.points.front().gbs;
  const std::int64_t ratio = point.gbs / first;
  const bool doubling = point.gbs % first == 0 && (ratio & (ratio - 1)) == 0;
  const bool is_switch = std::ranges::any_of(
      curve.switches, [&](const MicroBatchSwitch& step) { return step.gbs == point.gbs; });
  return doubling || is_switch || point.gbs == curve.points.back().gbs ||
         curve.first_full == point.gbs;
}

std::string ramp_text(const Plan& plan, const RampCurve& curve) {
  TextTable table({"gbs", fmt::format("mbs {}", plan.mbs), "micro batches", "bubble", "samples/s",
                   "fastest mbs", "time"});
  std::int64_t refused = 0;
  for (const BatchPoint& point : curve.points) {
    const auto& planned = point.planned;
    const auto& fastest = point.fastest;
    if (!planned) ++refused;
    if (!is_notable(curve, point)) continue;
    const double step = planned ? planned->sec_per_iter.value : 1;
    table.add({fmt::format("{}", point.gbs), cell(planned, "{:.2f} s"),
               planned ? fmt::format("{}", planned->micro_batches) : "-",
               planned ? fmt::format("{:.1f} %", 100 * planned->bubble / step) : "-",
               planned ? fmt::format("{:.2f}", static_cast<double>(point.gbs) / step) : "-",
               fastest ? fmt::format("{}", fastest->mbs) : "-", cell(fastest, "{:.2f} s")});
  }
  std::string text =
      fmt::format("Batch size ramp-up, {} sizes\n", curve.points.size()) + table.text();
  if (curve.first_full) {
    text += fmt::format("  the pipeline is full from gbs {} on\n", *curve.first_full);
  } else {
    text += fmt::format("  the pipeline never fills: fewer than {} micro batches\n", plan.pp);
  }
  for (const MicroBatchSwitch& step : curve.switches) {
    text += fmt::format("  mbs {} is the fastest from gbs {} on\n", step.mbs, step.gbs);
  }
  if (refused > 0) {
    text += fmt::format("  {} sizes are no multiple of dp {} x mbs {} = {}\n", refused, plan.dp,
                        plan.mbs, plan.dp * plan.mbs);
  }
  return text;
}

std::string checkpoint_text(const CheckpointPlan& checkpoints, const RunQuestion& question) {
  TextTable table({"Checkpoints", ""});
  table.add(
      {"size (weights and optimizer)", fmt::format("{:.0f} GiB", checkpoints.size.value / kGiB)});
  table.add({"to write one", duration(checkpoints.save)});
  if (checkpoints.young) table.add({"best interval, Young 1974", duration(*checkpoints.young)});
  if (checkpoints.daly) table.add({"best interval, Daly 2006", duration(*checkpoints.daly)});
  if (question.checkpoint_interval) table.add({"interval in use", duration(*checkpoints.interval)});
  if (checkpoints.interval) {
    table.add({question.mtbf ? "lost to saving and failures" : "lost to saving",
               fmt::format("{:.2f} %", 100 * checkpoints.lost_share)});
  }
  return table.text(0, "");
}

std::string run_text(const TrainingRun& run, const RunQuestion& question, bool what_if) {
  TextTable table({"Whole run", ""});
  table.add({"tokens", fmt::format("{:.4g}", *question.tokens)});
  table.add({"iterations", fmt::format("{}", run.iterations)});
  if (run.ramp_iterations > 0) {
    table.add({"of those, ramp-up", fmt::format("{}", run.ramp_iterations)});
  }
  if (what_if) {
    table.add({"each of them, what if", fmt::format("{:.2f} s", run.sec_per_iter.value)});
  }
  table.add({"training", duration(run.training)});
  if (question.eval_interval > 0) table.add({"evaluation", duration(run.evaluation)});
  table.add({"expected in all", duration(run.expected)});
  table.add({"GPU-hours", fmt::format("{:.0f}", run.gpu_hours)});
  if (run.cost) table.add({"cost", fmt::format("{:.0f}", *run.cost)});
  return table.text(0, "");
}

Json time_json(const std::optional<BatchTime>& time) {
  if (!time) return nullptr;
  return {{"mbs", time->mbs},
          {"micro_batches", time->micro_batches},
          {"sec_per_iter", time->sec_per_iter.value},
          {"bubble_s", time->bubble}};
}

Json optional_json(const auto& value) {
  return value ? Json(value->value) : Json(nullptr);
}

Json ramp_json(const RampCurve& curve) {
  Json switches = Json::array();
  for (const MicroBatchSwitch& step : curve.switches) {
    switches.push_back({{"gbs", step.gbs}, {"mbs", step.mbs}});
  }
  Json points = Json::array();
  for (const BatchPoint& point : curve.points) {
    points.push_back({{"gbs", point.gbs},
                      {"planned", time_json(point.planned)},
                      {"fastest", time_json(point.fastest)}});
  }
  return {{"first_full_gbs", curve.first_full ? Json(*curve.first_full) : Json(nullptr)},
          {"mbs_switches", switches},
          {"points", points}};
}

}  // namespace

std::string whole_run_text(const Plan& plan, const WholeRun& whole, const RunQuestion& question,
                           bool what_if) {
  std::string text;
  if (whole.ramp) text += "\n" + ramp_text(plan, *whole.ramp);
  if (whole.checkpoints) text += "\n" + checkpoint_text(*whole.checkpoints, question);
  if (whole.run) text += "\n" + run_text(*whole.run, question, what_if);
  return text;
}

Json whole_run_json(const WholeRun& whole) {
  Json json = Json::object();
  if (whole.ramp) json["ramp"] = ramp_json(*whole.ramp);
  if (const auto& checkpoints = whole.checkpoints) {
    json["checkpoints"] = {{"size_bytes", checkpoints->size.value},
                           {"save_s", checkpoints->save.value},
                           {"young_interval_s", optional_json(checkpoints->young)},
                           {"daly_interval_s", optional_json(checkpoints->daly)},
                           {"interval_s", optional_json(checkpoints->interval)},
                           {"lost_share", checkpoints->lost_share}};
  }
  if (const auto& run = whole.run) {
    json["run"] = {
        {"iterations", run->iterations},           {"ramp_iterations", run->ramp_iterations},
        {"sec_per_iter", run->sec_per_iter.value}, {"training_s", run->training.value},
        {"evaluation_s", run->evaluation.value},   {"expected_s", run->expected.value},
        {"days", run->expected.value / kDay},      {"gpu_hours", run->gpu_hours}};
    if (run->cost) json["run"]["cost"] = *run->cost;
  }
  return json;
}

}  // namespace prequel
