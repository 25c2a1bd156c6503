#include "cli/validate/validation_format.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/files.hpp"
#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

void add_error_row(TextTable& table, const std::string& group, const char* what,
                   const ErrorStatistics& summary, const ErrorStatistics* baseline) {
  if (summary.n == 0) return;
  table.row(group, what, summary.n, percent(summary.mape), percent(summary.median),
            percent(summary.p90), percent(summary.max), signed_percent(summary.bias),
            baseline ? percent(baseline->mape) : "");
}

/// Shares of the rows that lie in their intervals of each level.
std::string coverage_text(const char* what, const Coverage& coverage) {
  if (coverage.n == 0) return {};
  std::string text = fmt::format("; {} in its interval of", what);
  for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
    text += fmt::format("{} {:.0f} %: {:.0f} %", i > 0 ? "," : "", 100 * kCoverageLevels[i],
                        100 * coverage.inside[i]);
  }
  return text;
}

std::string groups_text(const std::vector<ValidationGroup>& groups, std::size_t width) {
  TextTable errors({"group", "of", "n", "MAPE %", "median", "P90", "max", "bias", "baseline"});
  std::string counts;
  for (const ValidationGroup& group : groups) {
    const std::string name = group.name.empty() ? "all" : group.name;
    add_error_row(errors, name, "time", group.time, &group.baseline);
    add_error_row(errors, name, "memory", group.memory, nullptr);
    counts +=
        fmt::format("  {}: {}, {} predicted, {} unsupported, {} invalid", name,
                    counted(group.runs, "row"), group.predicted, group.unsupported, group.invalid);
    if (group.fit.oom_measured > 0 || group.fit.false_oom > 0) {
      counts += fmt::format("; out of memory: {} of {} found, {} false", group.fit.oom_predicted,
                            group.fit.oom_measured, group.fit.false_oom);
    }
    if (group.ranking.sets > 0) {
      counts +=
          fmt::format("; ranking in {}: Kendall tau {:.2f}, top-1 regret {} % (worst {})",
                      counted(group.ranking.sets, "set"), group.ranking.kendall_tau,
                      percent(group.ranking.top1_regret), percent(group.ranking.worst_regret));
    }
    if (group.apart > 0) counts += fmt::format("; {} apart", group.apart);
    counts += coverage_text("time", group.time_coverage) +
              coverage_text("memory", group.memory_coverage) + "\n";
  }
  return "Errors of predictions against measured runs (predicted / measured - 1)\n" +
         errors.text(width) +
         "  baseline: hardware FLOPs over one efficiency, the median of all rows\n\n" + counts;
}

/// "52/79/96": per cent of the rows inside their interval of each level.
std::string inside_text(const Coverage& coverage) {
  std::string text;
  for (const double share : coverage.inside) text += (text.empty() ? "" : "/") + percent(share, 0);
  return text;
}

/// Several groupings of the same rows, one below the other.
std::string overview_text(const std::vector<ValidationGroup>& groups, std::size_t width) {
  TextTable table({"rows", "", "answered %", "n", "median", "P90", "bias", "in 50/80/95 %",
                   "memory", "in 80 %", "oom found", "false oom", "regret", "tau", "apart"});
  std::string by = "none";
  for (const ValidationGroup& group : groups) {
    const bool first = group.by != by;
    by = group.by;
    const Coverage& time = group.time_coverage;
    const Coverage& memory = group.memory_coverage;
    const FitCounts& fit = group.fit;
    const RankingQuality& layouts = group.layouts;
    const auto where = [](bool is_said, const std::string& text) { return is_said ? text : ""; };
    const bool timed = group.time.n > 0;
    table.row(
        first ? by : "", group.name, percent(group.usable), group.time.n,
        where(timed, percent(group.time.median)), where(timed, percent(group.time.p90)),
        where(timed, signed_percent(group.time.bias)), where(time.n > 0, inside_text(time)),
        where(memory.n > 0, percent(group.memory.median)),
        where(memory.n > 0, percent(memory.inside[1], 0)),
        where(fit.oom_measured > 0, fmt::format("{}/{}", fit.oom_predicted, fit.oom_measured)),
        where(fit.false_oom > 0, fmt::format("{}/{}", fit.false_oom, fit.ran)),
        where(layouts.sets > 0, percent(layouts.top1_regret)),
        where(layouts.sets > 0, fixed(layouts.kendall_tau, 2)),
        where(group.apart > 0, fmt::format("{}", group.apart)));
  }
  return "Errors of predictions against measured runs (predicted / measured - 1, in per cent)\n" +
         table.text(width) +
         "  in 50/80/95 %: rows inside their intervals of these levels; memory: median error; "
         "regret "
         "and\n  Kendall's tau: choosing among at least 8 layouts of one model; apart: rows that "
         "contradict others\n";
}

std::string reliability_text(const std::vector<ReliabilityBin>& bins, const char* came) {
  std::string text;
  for (const ReliabilityBin& bin : bins) {
    text += fmt::format("; said {:.2f}, {} {:.2f} of {}", bin.said, came, bin.came, bin.n);
  }
  return text + "\n";
}

/// How often plans ran whose probability of fitting was said to be so, and were the faster ones.
std::string odds_text(const ValidationGroup& group) {
  std::string text;
  if (const FitCounts& fit = group.fit; fit.odds > 0) {
    text += fmt::format("  probability of fitting, of {} rows with a verdict: Brier {:.3f}",
                        fit.odds, fit.brier) +
            reliability_text(fit.reliability, "ran");
  }
  if (const LayoutOdds& odds = group.odds; odds.sets > 0) {
    text += fmt::format(
        "  layouts: the best, or one within 2 % of it, was among the 3 most promising in {} of {} "
        "sets (regret {} %)\n  the fastest predicted loses {} % of the time of the best; expected: "
        "{} %\n  probability of being faster, of {} pairs: Brier {:.3f}",
        odds.near, odds.sets, percent(odds.regret), percent(odds.loss), percent(odds.stated_loss),
        odds.pairs, odds.brier);
    text += reliability_text(odds.reliability, "was");
  }
  return text;
}

std::string worst_text(const std::vector<ValidatedRun>& runs, int worst, std::size_t width) {
  std::vector<const ValidatedRun*> order;
  for (const ValidatedRun& run : runs) {
    if (run.time_error && run.run.apart.empty()) order.push_back(&run);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::abs(*a->time_error) > std::abs(*b->time_error);
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(0, worst))));
  if (order.empty()) return {};
  TextTable table({"worst rows", "measured s", "predicted s", "error %", "would explain it"});
  for (const ValidatedRun* run : order) {
    table.row(run->run.id, fixed(*run->run.sec_per_iter, 2),
              fixed(run->prediction->sec_per_iter.value, 2), signed_percent(*run->time_error),
              gap_explanation(*run));
  }
  return "\n" + table.text(width);
}

/// Returns what stood in for a row's release and machine where these are not known, and which of
/// its columns are not heeded.
std::vector<std::string> notes_of(const ValidatedRun& run) {
  std::vector<std::string> told;
  const auto tell = [&](const char* what, const std::string& asked, const std::string& stand_in) {
    if (stand_in.empty()) return;
    told.push_back(fmt::format("{} {} is not known: {} stands in for it", what, asked, stand_in));
  };
  tell("software", run.run.software, run.stand_in);
  tell("cluster", run.run.cluster, run.machine);
  told.insert(told.end(), run.unheeded.begin(), run.unheeded.end());
  return told;
}

/// Everything that there is to say of one run, on one line.
std::string one_line(const ValidatedRun& run, const std::vector<GapCause>& causes) {
  const Prediction& prediction = *run.prediction;
  std::string text = fmt::format("{}: predicted {:.2f} s per iteration, measured {:.2f} s: {} %",
                                 run.run.id, prediction.sec_per_iter.value, *run.run.sec_per_iter,
                                 signed_percent(*run.time_error));
  if (std::abs(*run.time_error) <= prediction.relative_error) {
    text += fmt::format(" (the stated error is {:.0f} %)", 100 * prediction.relative_error);
  }
  text += "; would explain it: " + (causes.empty() ? gap_explanation(run) : prequel::text(causes));
  if (run.memory_error) {
    text += fmt::format("; memory {:.1f} GiB, measured {:.1f} GiB: {} %", gib(run.printed_memory),
                        *run.run.mem_gib, signed_percent(*run.memory_error));
  }
  for (const std::string& note : notes_of(run)) text += "; " + note;
  return text + "\n";
}

Json run_json(const ValidatedRun& run) {
  Json measured = Json::object();
  set_json(measured, "sec_per_iter", run.run.sec_per_iter);
  set_json(measured, "mem_gib", run.run.mem_gib);
  measured["status"] = name(run.run.status);
  Json json{{"id", run.run.id}, {"file", file_name(run.run.file)}, {"status", name(run.outcome)}};
  if (!run.reason.empty()) json["reason"] = run.reason;
  if (!run.run.apart.empty()) json["apart"] = run.run.apart;
  json["measured"] = measured;
  if (run.outcome != Outcome::predicted) return json;
  Json predicted = Json::object();
  if (run.prediction) {
    predicted["sec_per_iter"] = run.prediction->sec_per_iter.value;
    predicted["mem_gib"] = gib(run.printed_memory);
    predicted["tight"] = run.prediction->verdict == MemoryVerdict::tight;
  }
  if (run.interval) {
    predicted["sec_per_iter_low"] = run.interval->time_low.value;
    predicted["sec_per_iter_high"] = run.interval->time_high.value;
    predicted["mem_gib_low"] = gib(run.memory_low());
    predicted["mem_gib_high"] = gib(run.memory_high());
    predicted["fits_probability"] = run.interval->fits_probability;
  }
  predicted["fits"] = run.fits;
  set_json(predicted, "baseline_sec_per_iter", run.baseline_s);
  json["predicted"] = predicted;
  Json error = Json::object();
  set_json(error, "sec_per_iter", run.time_error);
  if (run.time_error && run.interval) {
    // The distance in scales of the interval's Student t: what z-scores and calibration curves
    // show.
    const double log_error = portable::log1p(*run.time_error);
    error["z"] = -log_error / run.interval->scale_towards(log_error);
  }
  set_json(error, "mem_gib", run.memory_error);
  json["error"] = error;
  if (run.prediction && !run.prediction->warnings.empty()) {
    json["warnings"] = run.prediction->warnings;
  }
  return json;
}

/// How many rows lie in their interval of the level that is told with predictions; of the others,
/// too.
Json coverage_json(const Coverage& coverage) {
  Json told{{"level", kIntervalLevel}, {"covered", 0.0}, {"n", coverage.n}};
  for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
    if (kCoverageLevels[i] == kIntervalLevel) told["covered"] = coverage.inside[i];
  }
  told["levels"] = levels_json(coverage);
  return told;
}

std::string interval_csv(const ValidatedRun& run) {
  if (!run.interval) return ",,,,";
  const Interval& one = *run.interval;
  return fmt::format("{:.6g},{:.6g},{:.6g},{:.6g},{:.4g}", one.time_low.value, one.time_high.value,
                     gib(run.memory_low()), gib(run.memory_high()), one.fits_probability);
}

Json ranking_json(const RankingQuality& ranking) {
  return {{"sets", ranking.sets},
          {"kendall_tau", ranking.kendall_tau},
          {"top1_regret", ranking.top1_regret},
          {"worst_regret", ranking.worst_regret},
          {"worst_place_of_best", ranking.worst_place}};
}

Json reliability_json(const std::vector<ReliabilityBin>& bins, const char* came) {
  return list_json(bins, [&](const ReliabilityBin& bin) {
    return Json{{"said", bin.said}, {came, bin.came}, {"n", bin.n}};
  });
}

Json layout_odds_json(const LayoutOdds& odds) {
  return {{"sets", odds.sets},
          {"best_among_3", odds.tried},
          {"near_best_among_3", odds.near},
          {"regret_of_3", odds.regret},
          {"loss_of_first", odds.loss},
          {"expected_loss_of_first", odds.stated_loss},
          {"pairs", odds.pairs},
          {"brier", odds.brier},
          {"reliability", reliability_json(odds.reliability, "was")}};
}

Json fit_json(const FitCounts& fit) {
  return {{"ran", fit.ran},
          {"oom_measured", fit.oom_measured},
          {"oom_predicted", fit.oom_predicted},
          {"false_oom", fit.false_oom},
          {"odds",
           {{"n", fit.odds},
            {"brier", fit.brier},
            {"reliability", reliability_json(fit.reliability, "ran")}}}};
}

Json group_json(const ValidationGroup& group) {
  return {{"by", group.by},
          {"group", group.name},
          {"runs", group.runs},
          {"apart", group.apart},
          {"predicted", group.predicted},
          {"unsupported", group.unsupported},
          {"invalid", group.invalid},
          {"time", errors_json(group.time)},
          {"baseline_time", errors_json(group.baseline)},
          {"memory", errors_json(group.memory)},
          {"interval", coverage_json(group.time_coverage)},
          {"memory_interval", coverage_json(group.memory_coverage)},
          {"coverage", group.usable},
          {"fit", fit_json(group.fit)},
          {"ranking", ranking_json(group.ranking)},
          {"layout_ranking", ranking_json(group.layouts)},
          {"layout_odds", layout_odds_json(group.odds)}};
}

/// The same of many rows, a line each and how many there are of it.
std::string notes_text(const std::vector<ValidatedRun>& runs) {
  std::map<std::string, std::size_t> counts;
  for (const ValidatedRun& run : runs) {
    for (const std::string& note : notes_of(run)) ++counts[note];
  }
  std::string text;
  for (const auto& [note, rows] : counts) {
    text += fmt::format("  {} in {}\n", note, counted(static_cast<long long>(rows), "row"));
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string validation_text(const std::vector<ValidatedRun>& runs,
                            const std::vector<ValidationGroup>& groups, int worst,
                            std::size_t width, const std::vector<GapCause>& causes) {
  if (runs.size() == 1 && runs.front().time_error) return one_line(runs.front(), causes);
  const bool several = !groups.empty() && groups.front().by != groups.back().by;
  std::string text = (several ? overview_text(groups, width) + odds_text(groups.back())
                              : groups_text(groups, width)) +
                     worst_text(runs, worst, width) + notes_text(runs);
  if (!causes.empty()) text += "\n  one cause behind all of it: " + prequel::text(causes) + "\n";
  TextTable rest({"not predicted", "", "reason"});
  bool any = false;
  for (const ValidatedRun& run : runs) {
    if (run.outcome == Outcome::predicted) continue;
    any = true;
    rest.row(run.run.id.empty() ? fmt::format("{}:{}", file_name(run.run.file), run.run.line)
                                : run.run.id,
             name(run.outcome), run.reason);
  }
  return any ? text + "\n" + rest.text(width) : text;
}

std::string validation_json(const std::vector<ValidatedRun>& runs,
                            const std::vector<ValidationGroup>& groups,
                            const std::vector<GapCause>& causes,
                            const std::optional<Context>& context) {
  Json document{{"schema", "prequel/validation/1"},
                {"runs", list_json(runs, run_json)},
                {"groups", list_json(groups, group_json)}};
  if (!causes.empty()) document["causes"] = causes_json(causes);
  if (context) document["context"] = context_json(*context);
  return document_text(document);
}

std::string validation_csv(const std::vector<ValidatedRun>& runs) {
  std::string text =
      "id,file,outcome,status,measured_sec_per_iter,predicted_sec_per_iter,error_sec_per_iter,"
      "baseline_sec_per_iter,measured_mem_gib,predicted_mem_gib,error_mem_gib,fits,"
      "sec_per_iter_low,sec_per_iter_high,mem_gib_low,mem_gib_high,fits_probability,reason\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string();
  };
  for (const ValidatedRun& run : runs) {
    const bool timed = run.prediction.has_value();
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_quoted(run.run.id),
                        csv_quoted(file_name(run.run.file)), name(run.outcome),
                        name(run.run.status), number(run.run.sec_per_iter),
                        timed ? fmt::format("{:.6g}", run.prediction->sec_per_iter.value) : "",
                        number(run.time_error), number(run.baseline_s), number(run.run.mem_gib),
                        timed ? fmt::format("{:.6g}", gib(run.printed_memory)) : "",
                        number(run.memory_error),
                        run.outcome == Outcome::predicted ? (run.fits ? "1" : "0") : "",
                        interval_csv(run), csv_quoted(run.reason));
  }
  return text;
}

}  // namespace prequel
