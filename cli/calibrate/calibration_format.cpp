#include "cli/calibrate/calibration_format.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/json/errors_json.hpp"
#include "cli/text/table.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double fraction) {
  return fmt::format("{:.1f}", 100 * fraction);
}

/// Which groups a fit of collectives saw: it knows no others.
Json groups_json(const CollectiveGroups& groups) {
  Json list = Json::array();
  for (const auto& [nodes, ranks] : groups) list.push_back({{"nodes", nodes}, {"ranks", ranks}});
  return list;
}

/// Foreign cells may hold bytes that are not UTF-8; they must not cost the answer.
std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string check_text(const Check& check) {
  TextTable groups({"group", "n", "MAPE %", "median", "P90", "max", "bias", "scale"});
  for (const CheckGroup& group : check.groups) {
    const ErrorStatistics& errors = group.errors;
    groups.add({group.group, fmt::format("{}", errors.n), percent(errors.mape),
                percent(errors.median), percent(errors.p90), percent(errors.max),
                fmt::format("{:+.1f}", 100 * errors.bias), fmt::format("{:.3f}", group.scale)});
  }
  std::string text =
      "Errors of prices against measurements (predicted / measured - 1)\n" + groups.text();
  if (check.scales.empty()) return text;
  TextTable scales({"environment", "scale taken out"});
  for (const EnvironmentScale& one : check.scales) {
    scales.add({one.environment, fmt::format("{:.3f}", one.scale)});
  }
  return text + "\n" + scales.text();
}

std::string check_json(const Check& check) {
  Json groups = Json::array();
  for (const CheckGroup& group : check.groups) {
    Json entry{{"group", group.group}};
    entry.update(errors_json(group.errors));
    entry["scale"] = group.scale;
    groups.push_back(entry);
  }
  Json scales = Json::array();
  for (const EnvironmentScale& one : check.scales) {
    scales.push_back({{"environment", one.environment}, {"scale", one.scale}});
  }
  return document({{"schema", "prequel/check/1"},
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
    errors.add({report.what, fmt::format("{}", report.errors.n), percent(report.errors.mape),
                percent(report.errors.p90), fmt::format("{}", held.n),
                held.n > 0 ? percent(held.mape) : "", held.n > 0 ? percent(held.p90) : ""});
    if (!report.groups.empty()) {
      groups += fmt::format("{} was measured with {}\n", report.what, groups_text(report.groups));
    }
    for (const FittedConstant& constant : report.constants) {
      const Interval80 interval = interval80(constant);
      constants.add({report.what, constant.name, fmt::format("{:.4g}", constant.value),
                     fmt::format("{:.4g} to {:.4g}", interval.low, interval.high),
                     percent(constant.relative_error)});
    }
  }
  return "Errors of the fits; held out: shapes that a fit did without\n" + errors.text() + groups +
         "\nConstants (SI units) and their standard deviations\n" + constants.text();
}

std::string fit_json(const std::vector<FitReport>& reports) {
  Json fits = Json::array();
  for (const FitReport& report : reports) {
    Json constants = Json::array();
    for (const FittedConstant& constant : report.constants) {
      Json entry{{"name", constant.name}, {"value", constant.value}};
      // JSON has no infinity: a constant that the data say nothing about has no error.
      if (std::isfinite(constant.relative_error)) {
        const Interval80 interval = interval80(constant);
        entry["relative_error"] = constant.relative_error;
        entry["low"] = interval.low;
        entry["high"] = interval.high;
      }
      constants.push_back(entry);
    }
    fits.push_back({{"what", report.what},
                    {"sources", report.sources},
                    {"groups", groups_json(report.groups)},
                    {"errors", errors_json(report.errors)},
                    {"held_out_errors", errors_json(report.held_out_errors)},
                    {"constants", constants},
                    {"warnings", report.warnings}});
  }
  return document({{"schema", "prequel/fit/1"}, {"fits", fits}});
}

}  // namespace prequel
