#include "cli/calibrate/calibration_format.hpp"

#include <cmath>

#include <fmt/format.h>

#include "cli/json/json.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

/// Which groups a fit of collectives saw: it knows no others.
Json groups_json(const CollectiveGroups& groups) {
  return list_json(groups, [](const auto& group) {
    return Json{{"nodes", group.first}, {"ranks", group.second}};
  });
}

/// Spread over the prior's, above which the runs are said not to tell a constant.
constexpr double kKeptPrior = 0.8;

bool kept_prior(const CalibratedConstant& constant) {
  return 1.0 - constant.informed > kKeptPrior;
}

Json constants_json(const QuantityFit& fit) {
  return list_json(fit.constants, [](const CalibratedConstant& one) {
    return Json{
        {"name", name(one.constant)}, {"path", one.path},         {"value", one.value},
        {"prior", one.prior},         {"low", one.low},           {"high", one.high},
        {"relative_error", one.sd},   {"informed", one.informed}, {"kept_prior", kept_prior(one)},
        {"at_bound", false}};  // bounds are never reached: see data/uncertainty
  });
}

Json choices_json(const QuantityFit& fit) {
  return list_json(fit.choices, [](const WeighedChoice& one) {
    return Json{{"choice", text(one.choice)}, {"probability", one.weight}};
  });
}

Json memory_json(const QuantityFit& fit) {
  return {{"rows", fit.rows},
          {"noise", fit.noise},
          {"before", errors_json(fit.before)},
          {"in_sample", errors_json(fit.in_sample)},
          {"held_out", errors_json(fit.held_out)},
          {"coverage", covered_json(fit.coverage)}};
}

Json files_json(const std::vector<CalibratedFile>& files) {
  return list_json(files, [](const CalibratedFile& file) {
    return Json{{"folder", file.folder}, {"name", file.name}};
  });
}

std::string constants_text(const QuantityFit& fit) {
  TextTable constants({"constant", "value", "80 % interval", "files say", "told by the runs"});
  for (const CalibratedConstant& one : fit.constants) {
    constants.row(one.path, fmt::format("{:.4g}", one.value),
                  fmt::format("{:.3g} to {:.3g}", one.low, one.high),
                  fmt::format("{:.4g}", one.prior),
                  kept_prior(one) ? "kept its prior" : percent(one.informed, 0) + " %");
  }
  return constants.text();
}

void add_errors(TextTable& table, const std::string& what, const ErrorStatistics& e) {
  if (e.n == 0) return;
  table.row(what, e.n, percent(e.mape), percent(e.median), percent(e.p90), percent(e.max),
            signed_percent(e.bias));
}

std::string quantity_text(const QuantityFit& fit, const char* quantity, int folds) {
  TextTable errors(
      {fmt::format("errors of {}", quantity), "n", "MAPE %", "median", "P90", "max", "bias"});
  add_errors(errors, "files as they are", fit.before);
  add_errors(errors, "fitted on all rows", fit.in_sample);
  add_errors(errors, folds > 0 ? fmt::format("held out, {} folds", folds) : "left out",
             fit.held_out);
  add_errors(errors, "one factor, held out", fit.one_factor);
  std::string out = constants_text(fit) + "\n" + errors.text();
  if (fit.before.n > 0) {
    out += fmt::format("  scatter from run to run: {:.1f} %\n", 100 * fit.noise);
  }
  if (fit.coverage.n > 0) {
    out += "  held-out rows in their intervals:";
    for (std::size_t i = 0; i < kCoverageLevels.size(); ++i) {
      out += fmt::format("{} {:.0f} % in that of {:.0f} %", i > 0 ? "," : "",
                         100 * fit.coverage.inside[i], 100 * kCoverageLevels[i]);
    }
    out += "\n";
  }
  return out;
}

Json few_json(const std::vector<FewRuns>& few) {
  return list_json(few, [](const FewRuns& one) {
    return Json{{"rows", one.fitted},
                {"picks", one.picks},
                {"median", one.median},
                {"p90", one.p90},
                {"worst_median", one.worst},
                {"one_factor_median", one.one_factor},
                {"coverage", covered_json(one.coverage)}};
  });
}

std::string few_text(const std::vector<FewRuns>& few) {
  TextTable table({"other rows after random ones", "picks", "median %", "P90",
                   "worst pick's median", "by one factor", "inside 50/80/95 %"});
  for (const FewRuns& one : few) {
    const auto& inside = one.coverage.inside;
    table.row(one.fitted, one.picks, percent(one.median), percent(one.p90), percent(one.worst),
              percent(one.one_factor),
              fmt::format("{}/{}/{}", percent(inside[0], 0), percent(inside[1], 0),
                          percent(inside[2], 0)));
  }
  return table.text();
}

Json refit_errors_json(const RefitErrors& errors) {
  return {{"median", errors.median},
          {"p90", errors.p90},
          {"bias", errors.bias},
          {"interval80", errors.interval80},
          {"half_width", errors.half_width}};
}

Json left_out_json(const LeftOutFolds& folds) {
  Json json{{"by", folds.by}, {"folds", folds.folds}};
  json.update(refit_errors_json(folds.left_out));
  json["n"] = folds.n;
  json["seen"] = refit_errors_json(folds.seen);
  json["rows"] = list_json(folds.rows, [](const RefitRow& row) {
    return Json{{"id", row.id}, {"left_out", row.left_out}, {"seen", row.seen}};
  });
  return json;
}

std::string refit_errors_text(const RefitErrors& one) {
  return fmt::format("median {:.1f} %, P90 {:.1f}, bias {:+.1f}, {:.0f} % in intervals of {:.1f} %",
                     100 * one.median, 100 * one.p90, 100 * one.bias, 100 * one.interval80,
                     100 * one.half_width);
}

}  // namespace

std::string check_text(const Check& check) {
  TextTable groups({"group", "n", "MAPE %", "median", "P90", "max", "bias", "scale"});
  for (const CheckGroup& group : check.groups) {
    const ErrorStatistics& errors = group.errors;
    groups.row(group.group, errors.n, percent(errors.mape), percent(errors.median),
               percent(errors.p90), percent(errors.max), signed_percent(errors.bias),
               fixed(group.scale, 3));
  }
  std::string text =
      "Errors of prices against measurements (predicted / measured - 1)\n" + groups.text();
  if (check.scales.empty()) return text;
  TextTable scales({"environment", "scale taken out"});
  for (const EnvironmentScale& one : check.scales) {
    scales.row(one.environment, fixed(one.scale, 3));
  }
  return text + "\n" + scales.text();
}

std::string check_json(const Check& check) {
  Json groups = list_json(check.groups, [](const CheckGroup& group) {
    Json entry{{"group", group.group}};
    entry.update(errors_json(group.errors));
    entry["scale"] = group.scale;
    return entry;
  });
  Json scales = list_json(check.scales, [](const EnvironmentScale& one) {
    return Json{{"environment", one.environment}, {"scale", one.scale}};
  });
  return document_text({{"schema", "prequel/check/1"},
                        {"groups", groups},
                        {"scales", scales},
                        {"not_predicted", check.not_predicted}});
}

std::string check_csv(const Check& check) {
  std::string text = "group,n,mape,median,p90,max,bias,scale\n";
  for (const CheckGroup& group : check.groups) {
    const ErrorStatistics& errors = group.errors;
    text += fmt::format("{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n",
                        csv_quoted(group.group), errors.n, errors.mape, errors.median, errors.p90,
                        errors.max, errors.bias, group.scale);
  }
  return text;
}

std::string fit_text(const std::vector<FitReport>& reports) {
  TextTable errors({"fitted", "points", "MAPE %", "P90", "held out", "MAPE %", "P90"});
  TextTable constants({"constant", "", "value", "80 % interval", "+- %"});
  std::string groups;
  for (const FitReport& report : reports) {
    const ErrorStatistics& held = report.held_out_errors;
    errors.row(report.what, report.errors.n, percent(report.errors.mape),
               percent(report.errors.p90), held.n, held.n > 0 ? percent(held.mape) : "",
               held.n > 0 ? percent(held.p90) : "");
    if (!report.groups.empty()) {
      groups += fmt::format("{} was measured with {}\n", report.what, groups_text(report.groups));
    }
    for (const FittedConstant& constant : report.constants) {
      const Interval80 interval = interval80(constant);
      constants.row(report.what, constant.name, fmt::format("{:.4g}", constant.value),
                    fmt::format("{:.4g} to {:.4g}", interval.low, interval.high),
                    percent(constant.relative_error));
    }
  }
  return "Errors of the fits; held out: shapes that a fit did without\n" + errors.text() + groups +
         "\nConstants (SI units) and their standard deviations\n" + constants.text();
}

std::string fit_json(const std::vector<FitReport>& reports) {
  const auto constant_json = [](const FittedConstant& constant) {
    Json entry{{"name", constant.name}, {"value", constant.value}};
    // JSON has no infinity: a constant that the data say nothing about has no error.
    if (!std::isfinite(constant.relative_error)) return entry;
    const Interval80 interval = interval80(constant);
    entry.update({{"relative_error", constant.relative_error},
                  {"low", interval.low},
                  {"high", interval.high}});
    return entry;
  };
  Json fits = list_json(reports, [&](const FitReport& report) {
    return Json{{"what", report.what},
                {"sources", report.sources},
                {"groups", groups_json(report.groups)},
                {"errors", errors_json(report.errors)},
                {"held_out_errors", errors_json(report.held_out_errors)},
                {"constants", list_json(report.constants, constant_json)},
                {"warnings", report.warnings}};
  });
  return document_text({{"schema", "prequel/fit/1"}, {"fits", fits}});
}

std::string run_fit_json(const RunsAnswer& answer, const Context& context) {
  const RunFitReport& report = answer.report;
  Json constants = constants_json(report.time);
  for (Json& one : constants_json(report.memory)) constants.push_back(std::move(one));
  Json json{{"schema", "prequel/run-fit/1"},
            {"rows", report.time.rows},
            {"folds", report.left_out ? left_out_json(*report.left_out) : Json(report.folds)},
            {"constants", constants},
            {"choices", choices_json(report.time)},
            {"noise", report.time.noise},
            {"before", errors_json(report.time.before)},
            {"in_sample", errors_json(report.time.in_sample)},
            {"held_out", errors_json(report.time.held_out)},
            {"one_factor", errors_json(report.time.one_factor)},
            {"coverage", covered_json(report.time.coverage)},
            {"memory", memory_json(report.memory)},
            {"files", files_json(answer.files)}};
  if (!answer.few.empty()) json["few"] = few_json(answer.few);
  if (!answer.warnings.empty()) json["warnings"] = answer.warnings;
  json["context"] = context_json(context);
  return document_text(json);
}

std::string run_fit_text(const RunsAnswer& answer) {
  const RunFitReport& report = answer.report;
  std::string out;
  if (report.time.rows > 0)
    out += quantity_text(report.time, "sec_per_iter", report.left_out ? 0 : report.folds);
  if (report.left_out) {
    const LeftOutFolds& folds = *report.left_out;
    out += fmt::format(
        "  by {}: {} left out in turn, {} rows\n    left out  {}\n    seen      {}\n", folds.by,
        folds.folds, folds.n, refit_errors_text(folds.left_out), refit_errors_text(folds.seen));
  }
  if (report.time.choices.size() > 1 ||
      (!report.time.choices.empty() && report.time.choices.front().choice != StackChoice{})) {
    out += "  what the runs say of names in the files:\n";
    for (const WeighedChoice& one : report.time.choices) {
      out += fmt::format("    {:3.0f} %  {}\n", 100 * one.weight, text(one.choice));
    }
  }
  if (report.memory.rows > 0) {
    out += fmt::format("\nMemory ({} rows, verdicts included)\n", report.memory.rows) +
           quantity_text(report.memory, "memory", report.folds);
  }
  if (!answer.few.empty()) out += "\n" + few_text(answer.few);
  return out;
}

}  // namespace prequel
