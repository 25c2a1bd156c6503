#include "cli/compare/compare_format.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/json/interval_json.hpp"
#include "cli/json/plan_json.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/text/spread_text.hpp"
#include "cli/text/table.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

double tokens_per_second(const ComparedSide& side) {
  return side.tokens_per_iteration() / side.prediction.sec_per_iter.value;
}
double tokens_per_second_per_gpu(const ComparedSide& side) {
  return tokens_per_second(side) / static_cast<double>(side.scenario.plan.gpus);
}
double mfu(const ComparedSide& side) {
  return side.prediction.model_flops_rate(side.scenario.plan) / side.prediction.peak.value;
}

Json side_json(const ComparedSide& side) {
  const auto& [asked, scenario, prediction, interval] = side;
  return {{"asked", asked},
          {"model", scenario.model.name},
          {"cluster", scenario.cluster.name},
          {"device", scenario.device.name},
          {"software", scenario.software.name},
          {"plan", plan_json(scenario.plan)},
          {"sec_per_iter", prediction.sec_per_iter.value},
          {"tokens_per_sec", tokens_per_second(side)},
          {"tokens_per_sec_per_gpu", tokens_per_second_per_gpu(side)},
          {"mfu", mfu(side)},
          {"memory",
           {{"peak_gib", prediction.peak_memory.value / kGiB},
            {"capacity_gib", scenario.device.memory.value / kGiB},
            {"fits", prediction.verdict != MemoryVerdict::oom},
            {"verdict", name(prediction.verdict)}}},
          {"breakdown_s", breakdown_json(prediction.breakdown)},
          {"interval", interval_json(interval)},
          {"warnings", prediction.warnings}};
}

/// One kind of work on both sides, in seconds for as many tokens as the first does in an iteration.
struct Work {
  std::string name;
  double first{}, second{};
};

std::vector<Work> works(const CompareAnswer& answer) {
  const double scale = answer.first.tokens_per_iteration() / answer.second.tokens_per_iteration();
  const Json first = breakdown_json(answer.first.prediction.breakdown);
  const Json second = breakdown_json(answer.second.prediction.breakdown);
  std::vector<Work> works;
  for (const auto& [kind, seconds] : first.items()) {
    works.push_back({kind, seconds.get<double>(), scale * second.at(kind).get<double>()});
  }
  return works;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string seconds(double value) {
  return fmt::format("{:.3f}", std::abs(value) < 5e-4 ? 0.0 : value);  // not -0.000
}

std::string difference(double value) {
  return fmt::format("{:+.3f}", std::abs(value) < 5e-4 ? 0.0 : value);
}

std::string heading(const CompareAnswer& answer, const Terminal& terminal) {
  std::string text;
  for (const auto& [label, side] : {std::pair{"A", &answer.first}, {"B", &answer.second}}) {
    const Scenario& scenario = side->scenario;
    const std::string line = fmt::format(
        "{}: {} on {} {} ({}), {}", side->asked, scenario.model.name, scenario.plan.gpus,
        scenario.device.name, scenario.cluster.name, scenario.software.name);
    const std::string lines = wrapped(line, terminal.at_most(100) - 3, "   ");
    text += inked(terminal, Ink::bold, fmt::format("{}  {}", label, lines)) + "\n";
  }
  return text;
}

std::string unlike_table(const CompareAnswer& answer, const Terminal& terminal) {
  if (answer.unlike.empty()) return "Nothing differs between them.\n";
  TextTable table({"what differs", "A", "B"});
  for (const UnlikeInput& one : answer.unlike) {
    table.add({one.path, one.values[0], one.values[1]});
  }
  return table.text(terminal.width);
}

std::string answer_table(const CompareAnswer& answer, const Terminal& terminal) {
  const ComparedSide& a = answer.first;
  const ComparedSide& b = answer.second;
  TextTable table({"", "A", "B", "B / A"});
  const auto add = [&](const char* what, double first, double second, auto&& form) {
    table.add({what, form(first), form(second), fmt::format("{:.3f}", second / first)});
  };
  const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
  const auto fine = [](double value) { return fmt::format("{:.1f}", value); };
  add("s per iteration", a.prediction.sec_per_iter.value, b.prediction.sec_per_iter.value, seconds);
  add("tokens/s", tokens_per_second(a), tokens_per_second(b), whole);
  add("tokens/s a GPU", tokens_per_second_per_gpu(a), tokens_per_second_per_gpu(b), fine);
  const bool one_peak = a.prediction.peak.value == b.prediction.peak.value;
  add(one_peak ? "MFU" : "MFU, each of its own peak", mfu(a), mfu(b), percent);
  add("peak GiB", a.prediction.peak_memory.value / kGiB, b.prediction.peak_memory.value / kGiB,
      fine);
  table.add({"memory", std::string(name(a.prediction.verdict)),
             std::string(name(b.prediction.verdict)), ""});
  return table.text(terminal.width);
}

std::string work_table(const CompareAnswer& answer, const Terminal& terminal) {
  TextTable table({"kind of work, s", "A", "B", "B - A"});
  double first = 0.0, second = 0.0;
  for (const Work& work : works(answer)) {
    first += work.first;
    second += work.second;
    if (work.first == 0 && work.second == 0) continue;
    std::string label = work.name;
    std::ranges::replace(label, '_', ' ');
    table.add(
        {label, seconds(work.first), seconds(work.second), difference(work.second - work.first)});
  }
  table.add({"total", seconds(first), seconds(second), difference(second - first)});
  std::string text = table.text(terminal.width);
  if (answer.first.tokens_per_iteration() != answer.second.tokens_per_iteration()) {
    text += fmt::format("  for {:.0f} tokens each: an iteration of A\n",
                        answer.first.tokens_per_iteration());
  }
  return text;
}

std::string verdict_text(const CompareAnswer& answer, const Terminal& terminal) {
  const Difference& d = answer.difference;
  const std::string sources = spread_text(d.sources);
  std::string text = fmt::format(
      "B trains {:.3f} times as fast as A ({:.0f} % interval {:.3f} to {:.3f}); A is the faster "
      "with probability {:.2f}. Errors that both share cancel: {:.0f} % of the variance; the rest "
      "is {}.",
      d.speed_ratio, 100 * d.level, d.ratio_low, d.ratio_high, d.first_is_faster, 100 * d.cancelled,
      sources);
  for (const auto& [label, side] : {std::pair{"A", &answer.first}, {"B", &answer.second}}) {
    if (side->prediction.verdict != MemoryVerdict::oom) continue;
    text += fmt::format(" But {} needs {:.1f} of {:.1f} GiB: it is out of memory.", label,
                        side->prediction.peak_memory.value / kGiB,
                        side->scenario.device.memory.value / kGiB);
  }
  return wrapped(text, terminal.at_most(100), "  ") + "\n";
}

}  // namespace

std::string compare_json(const CompareAnswer& answer, const Context& context) {
  Json unlike = Json::array();
  for (const UnlikeInput& one : answer.unlike) {
    unlike.push_back({{"path", one.path}, {"a", one.values[0]}, {"b", one.values[1]}});
  }
  Json by_work = Json::array();
  for (const Work& work : works(answer)) {
    by_work.push_back({{"work", work.name},
                       {"a_s", work.first},
                       {"b_s", work.second},
                       {"difference_s", work.second - work.first}});
  }
  const Difference& d = answer.difference;
  Json sources = Json::array();
  for (const SpreadSource& source : d.sources) {
    sources.push_back({{"name", source.name}, {"share", source.share}});
  }
  return Json{{"schema", "prequel/job-comparison/1"},
              {"a", side_json(answer.first)},
              {"b", side_json(answer.second)},
              {"differences", unlike},
              {"tokens", answer.first.tokens_per_iteration()},
              {"by_work", by_work},
              {"speed_ratio", d.speed_ratio},
              {"interval",
               {{"level", d.level},
                {"speed_ratio", {d.ratio_low, d.ratio_high}},
                {"cancelled", d.cancelled},
                {"sources", sources}}},
              {"odds_a_faster", d.first_is_faster},
              {"context", context_json(context)}}
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string compare_text(const CompareAnswer& answer, const Terminal& terminal) {
  return heading(answer, terminal) + "\n" + unlike_table(answer, terminal) + "\n" +
         answer_table(answer, terminal) + "\n" + work_table(answer, terminal) + "\n" +
         verdict_text(answer, terminal);
}

}  // namespace prequel
