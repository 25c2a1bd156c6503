#include "calibrate/fit_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/interrupted.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "sim/answer/student_t.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Choices less probable than this beside the best one are forgotten.
constexpr double kLeastWeight = 0.01;

/// A choice with the constants that are most probable under it.
struct Hypothesis {
  StackChoice choice;
  Posterior posterior;
  double weight{};
};

/// What a fit says of one row that it did not see.
struct Forecast {
  double log_median{};
  double scale{};  ///< of a Student t
};

std::vector<Observation> seen_of(const std::vector<ObservedRun>& runs) {
  std::vector<Observation> seen;
  for (const ObservedRun& run : runs) seen.push_back(run.seen);
  return seen;
}

/// Rows of one quantity, the constants that are asked, and what the quantities do as these move
/// from the files' values: found once, for the fit to all rows and those to parts.
class RunFit {
 public:
  RunFit(std::vector<ObservedRun> runs, const Uncertainty& uncertainty,
         std::vector<Uncertain> constants, const NoisePrior& noise, bool choices_are_open,
         const std::atomic<bool>* stop)
      : runs_(std::move(runs)),
        uncertainty_(uncertainty),
        constants_(std::move(constants)),
        prior_(prior_of(uncertainty, constants_, noise)),
        choices_are_open_(choices_are_open),
        stop_(stop),
        start_(linear_model(quantities_of(runs_, {}), VectorXd::Zero(prior_.covariance.rows()),
                            prior_.covariance.diagonal().cwiseSqrt())) {}

  [[nodiscard]] const std::vector<ObservedRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<Uncertain>& constants() const { return constants_; }
  [[nodiscard]] double prior_sd(Index constant) const {
    return std::sqrt(prior_.covariance(constant, constant));
  }
  [[nodiscard]] double as_files_say(std::size_t row) const {
    return start_.values[static_cast<Index>(row)];
  }
  /// Whether the constant moves any row.
  [[nodiscard]] bool felt(Index constant) const { return !start_.slopes.col(constant).isZero(); }

  /// Greedy over the choices: from the best known, each name changed, until none is better.
  [[nodiscard]] std::vector<Hypothesis> fit(const std::vector<std::size_t>& rows) const {
    const std::vector<ObservedRun> part = part_of(rows);
    std::vector<Hypothesis> known{hypothesis(part, rows, {})};
    for (StackChoice best; choices_are_open_;) {
      for (const StackChoice& choice : neighbours(best, part)) {
        if (tells(part, choice, best)) known.push_back(hypothesis(part, rows, choice));
      }
      const StackChoice next = most_probable(known).choice;
      if (next == best) break;
      best = next;
    }
    weigh(known);
    return known;
  }

  /// The mixture of the hypotheses: their mean, and what they differ by as further spread.
  [[nodiscard]] std::vector<Forecast> forecasts(const std::vector<Hypothesis>& hypotheses,
                                                const std::vector<std::size_t>& rows) const {
    std::vector<Forecast> result(rows.size());
    std::vector<double> squares(rows.size());
    const std::vector<ObservedRun> part = part_of(rows);
    for (const Hypothesis& one : hypotheses) {
      const Posterior& posterior = one.posterior;
      const VectorXd values = quantities_of(part, one.choice)(posterior.constants);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double value = values[static_cast<Index>(i)];
        const VectorXd slope = start_.slopes.row(static_cast<Index>(rows[i])).transpose();
        const double variance = slope.dot(posterior.covariance * slope);
        result[i].log_median += one.weight * value;
        squares[i] += one.weight * (value * value + variance + posterior.noise * posterior.noise);
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double mean = result[i].log_median;
      result[i].scale = std::sqrt(std::max(0.0, squares[i] - mean * mean));
    }
    return result;
  }

 private:
  [[nodiscard]] LogQuantities quantities_of(const std::vector<ObservedRun>& part,
                                            const StackChoice& choice) const {
    return [stop = stop_,
            known = log_quantities(part, uncertainty_, constants_, choice)](const VectorXd& u) {
      heed(stop);
      return known(u);
    };
  }

  [[nodiscard]] std::vector<ObservedRun> part_of(const std::vector<std::size_t>& rows) const {
    std::vector<ObservedRun> part;
    for (const std::size_t row : rows) part.push_back(runs_[row]);
    return part;
  }

  [[nodiscard]] LinearModel start_of(const std::vector<std::size_t>& rows) const {
    LinearModel part{start_.at, VectorXd(static_cast<Index>(rows.size())),
                     MatrixXd(static_cast<Index>(rows.size()), start_.slopes.cols())};
    for (Index i = 0; i < part.values.size(); ++i) {
      const auto row = static_cast<Index>(rows[static_cast<std::size_t>(i)]);
      part.values[i] = start_.values[row];
      part.slopes.row(i) = start_.slopes.row(row);
    }
    return part;
  }

  /// Whether a choice changes what any row takes with another one.
  [[nodiscard]] bool tells(const std::vector<ObservedRun>& part, const StackChoice& choice,
                           const StackChoice& other) const {
    constexpr double kFelt = 0.002;
    const auto values = [&](const StackChoice& one) { return quantities_of(part, one)(start_.at); };
    return (values(choice) - values(other)).cwiseAbs().maxCoeff() > kFelt;
  }

  [[nodiscard]] Hypothesis hypothesis(const std::vector<ObservedRun>& part,
                                      const std::vector<std::size_t>& rows,
                                      const StackChoice& choice) const {
    const LogQuantities quantities = quantities_of(part, choice);
    LinearModel start = start_of(rows);
    if (choice != StackChoice{}) start.values = quantities(start.at);
    return {choice, posterior(prior_, seen_of(part), quantities, std::move(start)), 0.0};
  }

  static const Hypothesis& most_probable(const std::vector<Hypothesis>& known) {
    return *std::ranges::max_element(
        known, {}, [](const Hypothesis& one) { return one.posterior.log_evidence; });
  }

  /// Equal prior odds: weights are the evidences; what hardly weighs is dropped.
  static void weigh(std::vector<Hypothesis>& known) {
    const double most = most_probable(known).posterior.log_evidence;
    for (Hypothesis& one : known) one.weight = std::exp(one.posterior.log_evidence - most);
    std::erase_if(known, [](const Hypothesis& one) { return one.weight < kLeastWeight; });
    double sum = 0.0;
    for (const Hypothesis& one : known) sum += one.weight;
    for (Hypothesis& one : known) one.weight /= sum;
    std::ranges::stable_sort(known, std::greater{}, &Hypothesis::weight);
  }

  std::vector<ObservedRun> runs_;
  const Uncertainty& uncertainty_;
  std::vector<Uncertain> constants_;
  Prior prior_;
  bool choices_are_open_;
  const std::atomic<bool>* stop_;
  LinearModel start_;
};

/// Of a constant that moves several numbers, one that the scenario uses.
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

double value_at(const Scenario& scenario, const Uncertainty& uncertainty, Uncertain constant,
                const std::string& path, double u) {
  Scenario moved = scenario;
  move(moved, uncertainty, constant, u);
  for (const UncertainField& field : fields_of(moved, constant)) {
    if (field.path == path) return field.value;
  }
  return std::exp(u);
}

CalibratedConstant calibrated(const RunFit& fit, const Uncertainty& uncertainty,
                              const Posterior& posterior, Index index) {
  const Scenario& scenario = fit.runs().front().scenario;
  CalibratedConstant result;
  result.constant = fit.constants()[static_cast<std::size_t>(index)];
  result.path = shown_path(scenario, result.constant);
  result.deviation = posterior.constants[index];
  result.sd = std::sqrt(posterior.covariance(index, index));
  result.informed = std::clamp(1.0 - result.sd / fit.prior_sd(index), 0.0, 1.0);
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

/// The median of measured over predicted, as a logarithm; 0 where nothing was measured.
double one_factor(const RunFit& fit, const std::vector<std::size_t>& rows) {
  std::vector<double> gaps;
  for (const std::size_t row : rows) {
    const Observation& seen = fit.runs()[row].seen;
    if (seen.kind != Observation::Kind::value) continue;
    gaps.push_back(seen.log_value - fit.as_files_say(row));
  }
  return quantile(gaps, 0.5);
}

void hold_out(const RunFit& fit, int folds, QuantityFit& report) {
  Errors held_out, baseline;
  for (int fold = 0; fold < folds && folds > 1; ++fold) {
    std::vector<std::size_t> fitted, checked;
    for (std::size_t i = 0; i < fit.runs().size(); ++i) {
      (static_cast<int>(i) % folds == fold ? checked : fitted).push_back(i);
    }
    if (checked.empty() || fitted.empty()) continue;
    const std::vector<Forecast> forecasts = fit.forecasts(fit.fit(fitted), checked);
    const double factor = one_factor(fit, fitted);
    for (std::size_t i = 0; i < checked.size(); ++i) {
      const ObservedRun& run = fit.runs()[checked[i]];
      held_out.add(run, forecasts[i]);
      baseline.add(run, {fit.as_files_say(checked[i]) + factor, 0.0});
    }
  }
  report.held_out = error_statistics(held_out.relative);
  report.one_factor = error_statistics(baseline.relative);
  report.coverage = coverage(held_out.distances);
}

QuantityFit fit_quantity(const RunFit& fit, const Uncertainty& uncertainty, int folds) {
  QuantityFit report;
  report.rows = fit.runs().size();
  std::vector<std::size_t> all(fit.runs().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<Hypothesis> hypotheses = fit.fit(all);
  const Posterior& best = hypotheses.front().posterior;
  for (Index i = 0; i < best.constants.size(); ++i) {
    if (fit.felt(i)) report.constants.push_back(calibrated(fit, uncertainty, best, i));
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
  hold_out(fit, folds, report);
  return report;
}

/// Those among `chosen` that move times, or memory.
std::vector<Uncertain> constants_of(const std::vector<Uncertain>& chosen, bool of_time) {
  std::vector<Uncertain> constants;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const auto constant = Uncertain(i);
    if ((constant < Uncertain::framework) != of_time) continue;
    if (chosen.empty() || std::ranges::find(chosen, constant) != chosen.end()) {
      constants.push_back(constant);
    }
  }
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
                      int folds, const std::atomic<bool>* stop) {
  RunFitReport report;
  report.folds = folds;
  std::vector<ObservedRun> times = observed_times(library, runs);
  std::vector<ObservedRun> memory = observed_memory(library, runs);
  const auto of_time = constants_of(chosen, true);
  const auto of_memory = constants_of(chosen, false);
  if (!times.empty() && !of_time.empty()) {
    const RunFit fit(std::move(times), uncertainty, of_time, uncertainty.time_noise, chosen.empty(),
                     stop);
    report.time = fit_quantity(fit, uncertainty, folds);
  }
  if (!memory.empty() && !of_memory.empty()) {
    const RunFit fit(std::move(memory), uncertainty, of_memory, uncertainty.memory_noise, false,
                     stop);
    report.memory = fit_quantity(fit, uncertainty, folds);
  }
  if (report.time.rows + report.memory.rows == 0) {
    throw InputError(fmt::format(
        "none of {} rows has a time or memory and can be predicted; prequel validate says why",
        runs.size()));
  }
  return report;
}

}  // namespace prequel
