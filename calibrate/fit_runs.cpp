#include "calibrate/fit_runs.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/validation.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostConstants = 5;  // more than a table of runs can tell apart
constexpr double kSearchFactor = 8.0;      // a constant may move by this factor either way

std::vector<Override> overrides(const std::vector<RunConstant>& constants,
                                const std::vector<double>& values) {
  std::vector<Override> result;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    result.push_back({constants[i].path, fmt::format("{:.17g}", values[i])});
  }
  return result;
}

/// log(predicted / measured) of each row.
void residuals_of(const Library& library, const std::vector<const MeasuredRun*>& rows,
                  const std::vector<Override>& settings, std::vector<double>& residuals) {
  RunInputs inputs(library, settings);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double predicted = predict(inputs.scenario(*rows[i]).scenario).sec_per_iter.value;
    residuals[i] = std::log(predicted / *rows[i]->sec_per_iter);
  }
}

LeastSquaresFit fit_rows(const Library& library, const std::vector<const MeasuredRun*>& rows,
                         const std::vector<RunConstant>& constants) {
  std::vector<Parameter> parameters;
  for (const RunConstant& constant : constants) {
    parameters.push_back({constant.path, constant.start, constant.start / kSearchFactor,
                          constant.start * kSearchFactor});
    const bool share = constant.path.ends_with("efficiency");
    if (share) parameters.back().max = std::min(1.0, parameters.back().max);
  }
  LeastSquaresOptions options;
  options.starts = 2;
  options.iterations = 25;
  return least_squares(
      parameters, rows.size(),
      [&](const std::vector<double>& values, std::vector<double>& residuals) {
        residuals_of(library, rows, overrides(constants, values), residuals);
      },
      options);
}

ErrorStatistics errors_of(const Library& library, const std::vector<const MeasuredRun*>& rows,
                          const std::vector<Override>& settings, std::vector<double>* all) {
  std::vector<double> errors(rows.size());
  residuals_of(library, rows, settings, errors);
  for (double& error : errors) error = std::exp(error) - 1;
  if (all) all->insert(all->end(), errors.begin(), errors.end());
  return error_statistics(errors);
}

/// Rows with a time that can be predicted.
std::vector<const MeasuredRun*> usable(const Library& library,
                                       const std::vector<MeasuredRun>& runs) {
  RunInputs inputs(library, {});
  std::vector<const MeasuredRun*> rows;
  for (const MeasuredRun& run : runs) {
    if (!run.contradiction.empty() || run.status != RunStatus::ok || !run.sec_per_iter ||
        !run.plan.gbs) {
      continue;
    }
    try {
      (void)predict(inputs.scenario(run).scenario);
      rows.push_back(&run);
    } catch (const InputError&) {
      continue;  // validate names the reason
    }
  }
  return rows;
}

const nlohmann::json* member(const nlohmann::json& json, const std::string& dotted) {
  const nlohmann::json* here = &json;
  std::size_t begin = 0;
  while (begin <= dotted.size()) {
    const std::size_t end = std::min(dotted.find('.', begin), dotted.size());
    const std::string key = dotted.substr(begin, end - begin);
    if (!here->is_object() || !here->contains(key)) return nullptr;
    here = &(*here)[key];
    begin = end + 1;
  }
  return here;
}

}  // namespace

std::vector<RunConstant> run_constants(const Library& library, const std::vector<MeasuredRun>& runs,
                                       const std::vector<std::string>& paths) {
  if (paths.empty() || paths.size() > kMostConstants) {
    throw InputError(
        fmt::format("--fit: {} constants; one to five can be told from runs", paths.size()));
  }
  if (runs.empty()) throw InputError("no measured runs");
  const MeasuredRun& first = runs.front();
  const Document cluster = library.open("clusters", first.cluster);
  const std::string software_name =
      first.software.empty() ? cluster.json().value("software", "") : first.software;
  const Document software = library.open("software", software_name);
  std::vector<RunConstant> constants;
  for (const std::string& path : paths) {
    const bool of_cluster = path.starts_with("cluster.");
    if (!of_cluster && !path.starts_with("software.")) {
      throw InputError("--fit " + path + ": expected a field of software. or cluster.");
    }
    const Document& file = of_cluster ? cluster : software;
    const nlohmann::json* value = member(file.json(), path.substr(path.find('.') + 1));
    if (!value || !value->is_number() || value->get<double>() <= 0) {
      throw InputError(fmt::format("--fit {}: {} has no positive number there", path, file.file()));
    }
    constants.push_back({path, value->get<double>()});
  }
  return constants;
}

RunFitReport fit_runs(const Library& library, const std::vector<MeasuredRun>& runs,
                      const std::vector<RunConstant>& constants, int folds) {
  const std::vector<const MeasuredRun*> rows = usable(library, runs);
  if (rows.size() < 2 * constants.size()) {
    throw InputError(
        fmt::format("{} rows that ran and can be predicted; {} constants need at "
                    "least {}",
                    rows.size(), constants.size(), 2 * constants.size()));
  }
  RunFitReport report;
  report.rows = rows.size();
  report.folds = folds;
  report.before = errors_of(library, rows, {}, nullptr);
  report.fit = fit_rows(library, rows, constants);
  report.in_sample = errors_of(library, rows, overrides(constants, report.fit.values()), nullptr);
  std::vector<double> held_out;
  for (int fold = 0; fold < folds && folds > 1; ++fold) {
    std::vector<const MeasuredRun*> fitted, checked;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      (static_cast<int>(i) % folds == fold ? checked : fitted).push_back(rows[i]);
    }
    if (checked.empty() || fitted.size() < constants.size()) continue;
    const LeastSquaresFit fit = fit_rows(library, fitted, constants);
    errors_of(library, checked, overrides(constants, fit.values()), &held_out);
  }
  report.held_out = error_statistics(held_out);
  return report;
}

}  // namespace prequel
