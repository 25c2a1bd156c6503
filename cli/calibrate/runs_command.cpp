#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/fit_runs.hpp"
#include "cli/calibrate/options.hpp"
#include "cli/errors_json.hpp"
#include "cli/table.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kConfidence = 1.96;  // standard deviations: 95 %

std::string report_json(const RunFitReport& report) {
  Json constants = Json::array();
  for (const FittedConstant& constant : report.fit.constants) {
    constants.push_back({{"path", constant.name},
                         {"value", constant.value},
                         {"relative_error", constant.relative_error},
                         {"at_bound", constant.at_bound}});
  }
  return Json{{"schema", "prequel/run-fit/1"},
              {"rows", report.rows},
              {"folds", report.folds},
              {"constants", constants},
              {"before", errors_json(report.before)},
              {"in_sample", errors_json(report.in_sample)},
              {"held_out", errors_json(report.held_out)},
              {"warnings", report.fit.warnings}}
             .dump(2) +
         "\n";
}

std::string report_text(const RunFitReport& report) {
  TextTable constants({"constant", "value", "95 % interval"});
  for (const FittedConstant& constant : report.fit.constants) {
    const double spread = std::exp(kConfidence * constant.relative_error);
    constants.add(
        {constant.name, fmt::format("{:.4g}", constant.value),
         fmt::format("{:.3g} to {:.3g}", constant.value / spread, constant.value * spread)});
  }
  TextTable errors({"errors of sec_per_iter", "n", "MAPE %", "median", "P90", "max", "bias"});
  const auto add = [&](const std::string& what, const ErrorStatistics& e) {
    if (e.n == 0) return;
    errors.add({what, fmt::format("{}", e.n), fmt::format("{:.1f}", 100 * e.mape),
                fmt::format("{:.1f}", 100 * e.median), fmt::format("{:.1f}", 100 * e.p90),
                fmt::format("{:.1f}", 100 * e.max), fmt::format("{:+.1f}", 100 * e.bias)});
  };
  add("files as they are", report.before);
  add("fitted on all rows", report.in_sample);
  add(fmt::format("held out, {} folds", report.folds), report.held_out);
  std::string text = constants.text() + "\n" + errors.text();
  for (const std::string& warning : report.fit.warnings) text += "warning: " + warning + "\n";
  return text;
}

/// The software or cluster file of the first row with the fitted constants in it.
std::string fitted_file(const Library& library, const MeasuredRun& row,
                        const CalibrateRunsOptions& options, const RunFitReport& report) {
  const Document cluster = library.open("clusters", row.cluster);
  Document file =
      options.kind == "cluster"
          ? Document::from("fitted cluster", cluster.json())
          : library.open("software", row.software.empty() ? cluster.json().value("software", "")
                                                          : row.software);
  std::string paths;
  for (const FittedConstant& constant : report.fit.constants) {
    if (!constant.name.starts_with(options.kind + ".")) continue;
    file.set(constant.name.substr(options.kind.size() + 1), fmt::format("{:.6g}", constant.value));
    paths += " --fit " + constant.name;
  }
  if (paths.empty()) {
    throw InputError("--kind " + options.kind + ": none of the constants is of it");
  }
  file.set("name", options.name);
  if (options.kind == "software") {
    file.set("error.sec_per_iter", fmt::format("{:.3g}", std::min(1.0, report.held_out.mape)));
    file.set("error.basis", "held-out error of the fit to runs");
  }
  file.set("note", fmt::format("constants fitted on {} runs by `prequel calibrate runs{} --folds "
                               "{}`: mean error {:.1f} %, held out {:.1f} %",
                               report.rows, paths, report.folds, 100 * report.in_sample.mape,
                               100 * report.held_out.mape));
  Json fitted(file.json());
  fitted.erase("stands_for");  // it has constants of its own now
  return fitted.dump(2) + "\n";
}

}  // namespace

int run_calibrate_runs(const CommonOptions& common, const CalibrateRunsOptions& options) {
  const Library library(common.data_directories);
  std::vector<MeasuredRun> runs;
  for (const std::string& file : options.files) {
    std::vector<MeasuredRun> table = read_measured_runs(file);
    std::move(table.begin(), table.end(), std::back_inserter(runs));
  }
  const auto constants = run_constants(library, runs, options.constants);
  const RunFitReport report = fit_runs(library, runs, constants, options.folds);
  fmt::print("{}",
             options.format == OutputFormat::json ? report_json(report) : report_text(report));
  if (!options.output.empty()) {
    if (!report.fit.warnings.empty()) {
      throw InputError("--output: not written, since the runs cannot tell the constants: " +
                       report.fit.warnings.front() + "; fit fewer of them");
    }
    if (options.name.empty()) throw InputError("--output: needs --name, the new file's name");
    write_file(options.output, fitted_file(library, runs.front(), options, report));
  }
  return kExitDone;
}

}  // namespace prequel
