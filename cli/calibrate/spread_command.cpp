#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibrate/spread.hpp"
#include "cli/calibrate/options.hpp"
#include "cli/table.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) {
  return std::stod(fmt::format("{:.2g}", value));
}

std::string report_json(const SpreadReport& report) {
  Json constants = Json::array(), cases = Json::array();
  for (const SpreadEstimate& one : report.constants) {
    constants.push_back({{"name", name(one.constant)},
                         {"cases", one.cases},
                         {"before", one.before},
                         {"sd", one.after}});
  }
  for (const SpreadCase& one : report.cases) {
    cases.push_back({{"table", one.table},
                     {"software", one.software},
                     {"own", one.own},
                     {"rows", one.rows},
                     {"noise", one.noise}});
  }
  return Json{{"schema", "prequel/spread/1"},
              {"constants", constants},
              {"own_level", report.own_level},
              {"noise", {{"median", report.noise_median}, {"log_sd", report.noise_log_sd}}},
              {"cases", cases}}
             .dump(2) +
         "\n";
}

std::string report_text(const SpreadReport& report) {
  TextTable table({"constant", "cases", "spread was", "is"});
  for (const SpreadEstimate& one : report.constants) {
    table.add({std::string(name(one.constant)), fmt::format("{}", one.cases),
               fmt::format("{:.2f}", one.before), fmt::format("{:.2f}", one.after)});
  }
  std::size_t own = 0;
  for (const SpreadCase& one : report.cases) own += one.own;
  return table.text() +
         fmt::format(
             "  {} tables with the constants of other stacks, {} with their own, whose spread is "
             "{:.2f} of it\n  scatter from run to run: median {:.1f} %, log sd {:.2f}\n",
             report.cases.size() - own, own, report.own_level, 100 * report.noise_median,
             report.noise_log_sd);
}

/// The priors' file with the spreads that were found, where any case told of them.
std::string updated_priors(const Document& priors, const SpreadReport& report,
                           const CalibrateSpreadOptions& options) {
  Json json(priors.json());
  for (const SpreadEstimate& one : report.constants) {
    if (one.cases > 0)
      json["constants"][std::string(name(one.constant))]["sd"] = rounded(one.after);
  }
  json["levels"]["own"] = rounded(report.own_level);
  Json checked = Json::array();
  for (const SpreadCase& one : report.cases) {
    const Json pair{{"software", one.software}, {"cluster", one.cluster}};
    const bool known = std::find(checked.begin(), checked.end(), pair) != checked.end();
    if (one.own && !known) checked.push_back(pair);
  }
  json["checked"] = std::move(checked);
  json["origin"] = fmt::format("`prequel calibrate spread {}`: {} cases",
                               fmt::join(options.files, " "), report.cases.size());
  return json.dump(2) + "\n";
}

}  // namespace

int run_calibrate_spread(const CommonOptions& common, const CalibrateSpreadOptions& options) {
  const Library library(common.data_directories);
  std::vector<MeasuredRun> runs;
  for (const std::string& file : options.files) {
    std::vector<MeasuredRun> table = read_measured_runs(file);
    std::move(table.begin(), table.end(), std::back_inserter(runs));
  }
  const Document priors = library.open("uncertainty", "priors");
  const SpreadReport report = estimate_spread(library, runs, read_uncertainty(priors));
  fmt::print("{}",
             options.format == OutputFormat::json ? report_json(report) : report_text(report));
  if (!options.output.empty()) {
    write_file(options.output, updated_priors(priors, report, options));
  }
  return kExitDone;
}

}  // namespace prequel
