#include "cli/compare/compare_format.hpp"

#include <fmt/format.h>

#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/text.hpp"
#include "hw/base/unit_text.hpp"

namespace prequel {
namespace {

double tokens_per_second(const ComparedSide& side) {
  return side.tokens_per_iteration() / side.prediction.sec_per_iter.value;
}
double tokens_per_second_per_gpu(const ComparedSide& side) {
  return tokens_per_second(side) / static_cast<double>(side.scenario.plan.gpus);
}
double mfu(const ComparedSide& side) {
  return side.prediction.mfu(side.scenario.plan);
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
           {{"peak_gib", gib(prediction.peak_memory)},
            {"capacity_gib", gib(scenario.device.memory)},
            {"fits", prediction.verdict != MemoryVerdict::oom},
            {"verdict", name(prediction.verdict)}}},
          {"breakdown_s", breakdown_json(prediction.breakdown)},
          {"interval", interval_json(interval)},
          {"warnings", prediction.warnings}};
}

/// One kind of work on both sides, in seconds for as many tokens as the first does in an iteration.
struct Work {
  std::string_view name;
  double first{}, second{};
};

std::vector<Work> works(const CompareAnswer& answer) {
  const double scale = answer.first.tokens_per_iteration() / answer.second.tokens_per_iteration();
  std::vector<Work> works;
  for (const TimePart& part : kTimeParts) {
    works.push_back({part.key, answer.first.prediction.breakdown.*part.seconds,
                     scale * answer.second.prediction.breakdown.*part.seconds});
  }
  return works;
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
  TextTable table({"difference", "A", "B"});
  for (const UnlikeInput& one : answer.unlike) {
    table.row(one.path, one.values[0], one.values[1]);
  }
  return table.text(terminal.width);
}

std::string answer_table(const CompareAnswer& answer, const Terminal& terminal) {
  const ComparedSide& a = answer.first;
  const ComparedSide& b = answer.second;
  TextTable table({"", "A", "B", "B / A"});
  const auto add = [&](const char* what, const auto& of, int decimals, const char* unit = "") {
    table.row(what, fixed(of(a), decimals) + unit, fixed(of(b), decimals) + unit,
              fixed(of(b) / of(a), 3));
  };
  const bool one_peak = a.prediction.peak.value == b.prediction.peak.value;
  add(
      "s per iteration", [](const auto& side) { return side.prediction.sec_per_iter.value; }, 3);
  add("tokens/s", tokens_per_second, 0);
  add("tokens/s a GPU", tokens_per_second_per_gpu, 1);
  add(
      one_peak ? "MFU" : "MFU, each of its own peak",
      [](const auto& side) { return 100 * mfu(side); }, 1, " %");
  add(
      "peak GiB", [](const auto& side) { return gib(side.prediction.peak_memory); }, 1);
  table.row("memory", name(a.prediction.verdict), name(b.prediction.verdict), "");
  return table.text(terminal.width);
}

std::string work_table(const CompareAnswer& answer, const Terminal& terminal) {
  TextTable table({"kind of work, s", "A", "B", "B - A"});
  const auto add = [&](const std::string& label, double a, double b) {
    table.row(label, fixed(a, 3), fixed(b, 3), signed_fixed(b - a, 3));
  };
  double first = 0.0, second = 0.0;
  for (const Work& work : works(answer)) {
    first += work.first;
    second += work.second;
    if (work.first == 0 && work.second == 0) continue;
    add(spaced(work.name), work.first, work.second);
  }
  add("total", first, second);
  std::string text = table.text(terminal.width);
  if (answer.first.tokens_per_iteration() != answer.second.tokens_per_iteration()) {
    text += fmt::format("  for {:.0f} tokens each: an iteration of A\n",
                        answer.first.tokens_per_iteration());
  }
  return text;
}

std::string verdict_text(const CompareAnswer& answer, const Terminal& terminal) {
  const Difference& d = answer.difference;
  std::string text = fmt::format(
      "B trains {:.3f} times as fast as A ({:.0f} % interval {:.3f} to {:.3f}); A is the faster "
      "with probability {:.2f}. Errors that both share cancel: {:.0f} % of the variance; the rest "
      "is {}.",
      d.speed_ratio, 100 * d.level, d.ratio_low, d.ratio_high, d.first_is_faster, 100 * d.cancelled,
      spread_text(d.sources));
  for (const auto& [label, side] : {std::pair{"A", &answer.first}, {"B", &answer.second}}) {
    if (side->prediction.verdict != MemoryVerdict::oom) continue;
    text +=
        fmt::format(" But {} needs {} of {} GiB: it is out of memory.", label,
                    gib_text(side->prediction.peak_memory), gib_text(side->scenario.device.memory));
  }
  return wrapped(text, terminal.at_most(100), "  ") + "\n";
}

}  // namespace

std::string compare_json(const CompareAnswer& answer, const Context& context) {
  const Difference& d = answer.difference;
  const auto unlike_json = [](const UnlikeInput& one) {
    return Json{{"path", one.path}, {"a", one.values[0]}, {"b", one.values[1]}};
  };
  const auto work_json = [](const Work& work) {
    return Json{{"work", work.name},
                {"a_s", work.first},
                {"b_s", work.second},
                {"difference_s", work.second - work.first}};
  };
  return document_text({{"schema", "prequel/job-comparison/1"},
                        {"a", side_json(answer.first)},
                        {"b", side_json(answer.second)},
                        {"differences", list_json(answer.unlike, unlike_json)},
                        {"tokens", answer.first.tokens_per_iteration()},
                        {"by_work", list_json(works(answer), work_json)},
                        {"speed_ratio", d.speed_ratio},
                        {"interval",
                         {{"level", d.level},
                          {"speed_ratio", {d.ratio_low, d.ratio_high}},
                          {"cancelled", d.cancelled},
                          {"sources", sources_json(d.sources)}}},
                        {"odds_a_faster", d.first_is_faster},
                        {"context", context_json(context)}});
}

std::string compare_text(const CompareAnswer& answer, const Terminal& terminal) {
  return heading(answer, terminal) + "\n" + unlike_table(answer, terminal) + "\n" +
         answer_table(answer, terminal) + "\n" + work_table(answer, terminal) + "\n" +
         verdict_text(answer, terminal);
}

}  // namespace prequel
