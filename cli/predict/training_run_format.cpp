#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"

namespace prequel {
namespace {

std::string duration(Seconds time) {
  const double value = time.value;
  if (value >= 2 * kDay) return fixed(value / kDay, 1) + " days";
  if (value >= 2 * kHour) return fixed(value / kHour, 1) + " h";
  if (value >= 2 * kMinute) return fixed(value / kMinute, 1) + " min";
  return fixed(value, 1) + " s";
}

std::string cell(const std::optional<BatchTime>& time) {
  return time ? fixed(time->sec_per_iter.value, 2) + " s" : "-";
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
    table.row(point.gbs, cell(planned), planned ? std::to_string(planned->micro_batches) : "-",
              planned ? percent(planned->bubble / step) + " %" : "-",
              planned ? fixed(real(point.gbs) / step, 2) : "-",
              fastest ? std::to_string(fastest->mbs) : "-", cell(fastest));
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
  table.row("size (weights and optimizer)", fixed(gib(checkpoints.size), 0) + " GiB");
  table.row("to write one", duration(checkpoints.save));
  if (checkpoints.young) table.row("best interval, Young 1974", duration(*checkpoints.young));
  if (checkpoints.daly) table.row("best interval, Daly 2006", duration(*checkpoints.daly));
  if (question.checkpoint_interval) table.row("interval in use", duration(*checkpoints.interval));
  if (checkpoints.interval) {
    table.row(question.mtbf ? "lost to saving and failures" : "lost to saving",
              percent(checkpoints.lost_share, 2) + " %");
  }
  return table.text(0, "");
}

std::string run_text(const TrainingRun& run, const RunQuestion& question, bool what_if) {
  TextTable table({"Whole run", ""});
  table.row("tokens", fmt::format("{:.4g}", run.tokens.points.back().second));
  table.row("iterations", run.iterations);
  if (run.ramp_iterations > 0) table.row("ramp-up among them", run.ramp_iterations);
  if (what_if) table.row("each of them, what if", fixed(run.sec_per_iter.value, 2) + " s");
  table.row("training", duration(run.training));
  if (question.eval_interval > 0) table.row("evaluation", duration(run.evaluation));
  table.row("expected in all", duration(run.expected));
  table.row("GPU-hours", fixed(run.gpu_hours, 0));
  if (run.cost) table.row("cost", fixed(*run.cost, 0));
  return table.text(0, "");
}

Json time_json(const BatchTime& time) {
  return {{"mbs", time.mbs},
          {"micro_batches", time.micro_batches},
          {"sec_per_iter", time.sec_per_iter.value},
          {"bubble_s", time.bubble}};
}

Json seconds_json(const std::optional<Seconds>& time) {
  return optional_json(time, [](Seconds seconds) { return seconds.value; });
}

Json ramp_json(const RampCurve& curve) {
  Json switches = list_json(curve.switches, [](const MicroBatchSwitch& step) {
    return Json{{"gbs", step.gbs}, {"mbs", step.mbs}};
  });
  Json points = list_json(curve.points, [](const BatchPoint& point) {
    return Json{{"gbs", point.gbs},
                {"planned", optional_json(point.planned, time_json)},
                {"fastest", optional_json(point.fastest, time_json)}};
  });
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
                           {"young_interval_s", seconds_json(checkpoints->young)},
                           {"daly_interval_s", seconds_json(checkpoints->daly)},
                           {"interval_s", seconds_json(checkpoints->interval)},
                           {"lost_share", checkpoints->lost_share}};
  }
  if (const auto& run = whole.run) {
    json["run"] = {
        {"iterations", run->iterations},           {"ramp_iterations", run->ramp_iterations},
        {"sec_per_iter", run->sec_per_iter.value}, {"training_s", run->training.value},
        {"evaluation_s", run->evaluation.value},   {"expected_s", run->expected.value},
        {"days", run->expected.value / kDay},      {"gpu_hours", run->gpu_hours}};
    set_json(json["run"], "cost", run->cost);
  }
  return json;
}

}  // namespace prequel
