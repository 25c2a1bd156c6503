#include "cli/calibrate/calibration_format.hpp"

#include <cmath>

#include <fmt/format.h>

#include "cli/json/answer_json.hpp"
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

}  // namespace prequel
