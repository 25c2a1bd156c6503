#include "calibrate/runs/fit_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "calibrate/runs/run_fit.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/parallel.hpp"
#include "hw/base/student_t.hpp"
#include "hw/base/text.hpp"
#include "sim/answer/known_spread.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// Returns the path of a constant; where it moves several numbers, one that the scenario uses.
std::string shown_path(const Scenario& scenario, Uncertain constant) {
  const std::vector<UncertainField> fields = fields_of(scenario, constant);
  const std::string used = "." + scenario.software.kernels.flash_kernel + ".";
  for (const UncertainField& field : fields) {
    if (used.size() > 2 && field.path.find(used) != std::string::npos) return field.path;
  }
  for (const UncertainField& field : fields) {
    if (field.value > 0) return field.path;
  }
  return fields.empty() ? std::string(name(constant)) : fields.front().path;
}

CalibratedConstant calibrated(const RunFit& fit, const Uncertainty& uncertainty,
                              const Hypothesis& best, Index index) {
  const Posterior& posterior = best.posterior;
  const Scenario& scenario = fit.runs().front().scenario;
  CalibratedConstant result;
  result.constant = fit.constants()[static_cast<std::size_t>(index)];
  result.path = shown_path(scenario, result.constant);
  result.deviation = posterior.constants[index];
  result.sd = std::sqrt(posterior.covariance(index, index));
  result.informed = std::clamp(1.0 - result.sd / best.prior_sd[index], 0.0, 1.0);
  const double reach = t4_half_width(0.8) * result.sd;
  const auto at = [&](double u) {
    return value_at(scenario, uncertainty, result.constant, result.path, u);
  };
  result.prior = at(0.0);
  result.value = at(result.deviation);
  std::tie(result.low, result.high) =
      std::minmax({at(result.deviation - reach), at(result.deviation + reach)});
  return result;
}

/// Errors of values that were measured, none of verdicts.
struct Errors {
  std::vector<double> relative;
  std::vector<double> distances;  ///< over the forecast's scale

  void add(const ObservedRun& run, const Forecast& forecast) {
    if (run.seen.kind != Observation::Kind::value) return;
    const double error = forecast.log_median - run.seen.log_value;
    relative.push_back(std::expm1(error));
    if (forecast.scale > 0) distances.push_back(error / forecast.scale);
  }
};

/// Returns the value that the row shares with those of its fold.
std::string shared_by(const ObservedRun& row, const std::string& fold_by) {
  if (fold_by == "card") return row.scenario.device.name;
  if (fold_by == "cluster") return own_name(row.scenario.cluster);
  if (fold_by == "software") {
    return row.run->software.empty() ? row.scenario.software.name : row.run->software;
  }
  return row.run->model_name.empty() ? row.run->table : row.run->model_name;
}

/// The fold of each row, from 0: in turns, or by what rows share.
std::vector<int> folds_of(const std::vector<ObservedRun>& rows, int folds,
                          const std::string& fold_by) {
  std::map<std::string, int> known;
  std::vector<int> result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (fold_by.empty()) {
      result.push_back(static_cast<int>(i) % folds);
      continue;
    }
    const auto next = static_cast<int>(known.size());
    result.push_back(known.try_emplace(shared_by(rows[i], fold_by), next).first->second);
  }
  return result;
}

/// Rows that a fold fits, and those that it predicts.
struct Fold {
  std::vector<std::size_t> fitted, checked;
};

std::vector<Fold> folds_with(const std::vector<int>& fold_of) {
  std::vector<Fold> folds(fold_of.empty() ? 0 : 1 + std::ranges::max(fold_of));
  for (std::size_t i = 0; i < fold_of.size(); ++i) {
    for (std::size_t fold = 0; fold < folds.size(); ++fold) {
      (fold_of[i] == static_cast<int>(fold) ? folds[fold].checked : folds[fold].fitted)
          .push_back(i);
    }
  }
  std::erase_if(folds,
                [](const Fold& fold) { return fold.checked.empty() || fold.fitted.empty(); });
  return folds;
}

/// Tells how far the forecasts of rows are off, each made without its own fold.
void report_held_out(const RunFit& fit, const std::vector<Fold>& folds,
                     const std::vector<Forecast>& forecasts, QuantityFit& report) {
  Errors held_out, baseline;
  for (const Fold& fold : folds) {
    const double factor = fit.one_factor(fold.fitted);
    for (const std::size_t row : fold.checked) {
      held_out.add(fit.runs()[row], forecasts[row]);
      baseline.add(fit.runs()[row], {fit.as_files_say(row) + factor, 0.0});
    }
  }
  report.held_out = error_statistics(held_out.relative);
  report.one_factor = error_statistics(baseline.relative);
  report.coverage = coverage(held_out.distances);
}

void hold_out(const RunFit& fit, const std::vector<int>& fold_of, QuantityFit& report) {
  const std::vector<Fold> folds = folds_with(fold_of);
  std::vector<Forecast> held_out(fit.runs().size());
  for (const Fold& fold : folds) {
    const std::vector<Forecast> forecasts = fit.forecasts(fit.fit(fold.fitted), fold.checked);
    for (std::size_t i = 0; i < forecasts.size(); ++i) held_out[fold.checked[i]] = forecasts[i];
  }
  report_held_out(fit, folds, held_out, report);
}

RefitErrors refit_errors(const RunFit& fit, const std::vector<Forecast>& forecasts) {
  Errors errors;
  std::vector<double> half_widths;
  for (std::size_t row = 0; row < forecasts.size(); ++row) {
    errors.add(fit.runs()[row], forecasts[row]);
    half_widths.push_back(std::expm1(t4_half_width(0.8) * forecasts[row].scale));
  }
  const ErrorStatistics found = error_statistics(errors.relative);
  return {found.median, found.p90, found.bias, coverage(errors.distances).inside[1],
          quantile(half_widths, 0.5)};
}

/// Cells, clusters and releases of the rows that a fold is fitted on.
struct KnownKinds {
  std::set<std::string> cells, clusters, releases;

  KnownKinds(const RunFit& fit, const std::vector<std::size_t>& rows) {
    for (const std::size_t row : rows) {
      const ObservedRun& run = fit.runs()[row];
      cells.insert(cell_of(run.scenario.model, run.scenario.device));
      clusters.insert(shared_by(run, "cluster"));
      releases.insert(shared_by(run, "software"));
    }
  }

  /// Returns the variance that an answer adds for what none of them is of.
  [[nodiscard]] double variance_of_news(const ObservedRun& run, const Uncertainty& known) const {
    double variance = 0;
    for (const NewPart& part :
         news_of(run.scenario, known,
                 {.cluster = !clusters.contains(shared_by(run, "cluster")),
                 .release = !releases.contains(shared_by(run, "software")),
                 .cell = !cells.contains(cell_of(run.scenario.model, run.scenario.device))})) {
      variance += part.variance;
    }
    return variance;
  }
};

/// Leaves out what rows share, fold by fold: each is refitted on the linear model around the fit to
/// all rows, so that no fold asks for predictions.
void leave_out(const RunFit& fit, const LinearModel& near, const Uncertainty& uncertainty,
               const std::vector<int>& fold_of, QuantityFit& report, LeftOutFolds& result) {
  const std::vector<Fold> folds = folds_with(fold_of);
  std::vector<std::size_t> all(fit.runs().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Forecast> left_out(all.size());
  parallel_for(folds.size(), [&](std::size_t i) {
    const Fold& fold = folds[i];
    const std::vector<Forecast> forecasts =
        RunFit::forecasts_near(near, fit.refit(near, fold.fitted), fold.checked);
    const KnownKinds known(fit, fold.fitted);
    for (std::size_t k = 0; k < fold.checked.size(); ++k) {
      const std::size_t row = fold.checked[k];
      const double news = known.variance_of_news(fit.runs()[row], uncertainty);
      left_out[row] = {forecasts[k].log_median, std::hypot(forecasts[k].scale, std::sqrt(news))};
    }
  });
  report_held_out(fit, folds, left_out, report);
  result.folds = folds.size();
  result.n = report.held_out.n;
  result.left_out = refit_errors(fit, left_out);
  const std::vector<Forecast> seen = RunFit::forecasts_near(near, fit.refit(near, all), all);
  result.seen = refit_errors(fit, seen);
  for (const std::size_t row : all) {
    const double measured = fit.runs()[row].seen.log_value;
    result.rows.push_back({fit.runs()[row].run->id, std::expm1(left_out[row].log_median - measured),
                           std::expm1(seen[row].log_median - measured)});
  }
}

QuantityFit fit_quantity(const RunFit& fit, const Uncertainty& uncertainty,
                         const std::vector<int>& fold_of, LeftOutFolds* left_out = nullptr) {
  QuantityFit report;
  report.rows = fit.runs().size();
  std::vector<std::size_t> all(fit.runs().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<Hypothesis> hypotheses = fit.fit(all);
  const Posterior& best = hypotheses.front().posterior;
  for (Index i = 0; i < best.constants.size(); ++i) {
    if (fit.felt(i))
      report.constants.push_back(calibrated(fit, uncertainty, hypotheses.front(), i));
  }
  report.order = fit.constants();
  const VectorXd scale = best.covariance.diagonal().cwiseSqrt().cwiseInverse();
  report.correlation = scale.asDiagonal() * best.covariance * scale.asDiagonal();
  for (const Hypothesis& one : hypotheses) report.choices.push_back({one.choice, one.weight});
  report.noise = best.noise;
  Errors before, in_sample;
  const std::vector<Forecast> fitted = fit.forecasts(hypotheses, all);
  for (const std::size_t row : all) {
    before.add(fit.runs()[row], {fit.as_files_say(row), 0.0});
    in_sample.add(fit.runs()[row], fitted[row]);
  }
  report.before = error_statistics(before.relative);
  report.in_sample = error_statistics(in_sample.relative);
  if (left_out) {
    leave_out(fit, best.model, uncertainty, fold_of, report, *left_out);
  } else {
    hold_out(fit, fold_of, report);
  }
  return report;
}

/// Those among `chosen` that move times, or memory.
std::vector<Uncertain> constants_among(const std::vector<Uncertain>& chosen, bool of_time) {
  std::vector<Uncertain> constants = constants_of(of_time);
  std::erase_if(constants, [&](Uncertain constant) {
    return !chosen.empty() && std::ranges::find(chosen, constant) == chosen.end();
  });
  return constants;
}

}  // namespace

std::vector<Uncertain> uncertain_constants(const std::vector<std::string>& names,
                                           const std::vector<MeasuredRun>& runs,
                                           const Library& library) {
  std::vector<Uncertain> chosen;
  if (names.empty()) return chosen;
  std::vector<std::string> known(kUncertainNames.begin(), kUncertainNames.end());
  std::vector<std::pair<std::string, Uncertain>> paths;
  const std::vector<ObservedRun> observed = observed_times(library, runs);
  for (std::size_t i = 0; i < kUncertain && !observed.empty(); ++i) {
    for (const UncertainField& field : fields_of(observed.front().scenario, Uncertain(i))) {
      paths.emplace_back(field.path, Uncertain(i));
      known.push_back(field.path);
    }
  }
  for (const std::string& text : names) {
    auto constant = uncertain_named(text);
    const auto path = std::ranges::find(paths, text, &decltype(paths)::value_type::first);
    if (path != paths.end()) constant = path->second;
    if (!constant) {
      throw InputError("fit " + printable(text),
                       "no constant that runs tell of" + did_you_mean(text, known));
    }
    if (std::ranges::find(chosen, *constant) == chosen.end()) chosen.push_back(*constant);
  }
  return chosen;
}

RunFitReport fit_runs(const Library& library, const std::vector<MeasuredRun>& runs,
                      const Uncertainty& uncertainty, const std::vector<Uncertain>& chosen,
                      int folds, const std::atomic<bool>* stop, const std::string& fold_by) {
  RunFitReport report;
  report.folds = folds;
  if (!fold_by.empty()) report.left_out.emplace().by = fold_by;
  std::vector<ObservedRun> times = observed_times(library, runs);
  // Where folds leave out what rows share, times alone are asked.
  std::vector<ObservedRun> memory;
  if (fold_by.empty()) memory = observed_memory(library, runs);
  const auto of_time = constants_among(chosen, true);
  const auto of_memory = constants_among(chosen, false);
  // Constants that are named are believed to have changed. Where folds leave out what rows share,
  // the rows alone are to tell: files were chosen on some of them.
  const auto known = chosen.empty() && fold_by.empty() ? what_is_known : only_priors;
  if (!times.empty() && !of_time.empty()) {
    WhatIsKnown before = known(times, uncertainty, of_time);
    const RunFit fit(std::move(times), uncertainty, of_time, std::move(before), stop);
    const std::vector<int> fold_of = folds_of(fit.runs(), folds, fold_by);
    if (!fold_by.empty() && std::ranges::max(fold_of) == 0) {
      throw InputError("fold-by " + fold_by,
                       "all rows share one, so that none can be left out; another table beside "
                       "them would do");
    }
    report.time =
        fit_quantity(fit, uncertainty, fold_of, report.left_out ? &*report.left_out : nullptr);
  }
  if (!memory.empty() && !of_memory.empty()) {
    WhatIsKnown before = known(memory, uncertainty, of_memory);
    before.other_name = 0;  // the names are told by times
    const RunFit fit(std::move(memory), uncertainty, of_memory, std::move(before), stop);
    report.memory = fit_quantity(fit, uncertainty, folds_of(fit.runs(), folds, {}));
  }
  if (report.time.rows + report.memory.rows == 0) {
    throw InputError(fmt::format(
        "none of {} rows has a time or memory and can be predicted; prequel validate says why",
        runs.size()));
  }
  return report;
}

}  // namespace prequel
