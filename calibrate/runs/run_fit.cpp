#include "calibrate/runs/run_fit.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/statistics/error_statistics.hpp"
#include "hw/base/interrupted.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Choices less probable than this beside the best one are forgotten.
constexpr double kLeastWeight = 0.01;
std::vector<Observation> seen_of(const std::vector<ObservedRun>& runs) {
  std::vector<Observation> seen;
  for (const ObservedRun& run : runs) seen.push_back(run.seen);
  return seen;
}

/// Returns the weights that sum to 1 of logarithms of evidences, and the logarithm of their sum.
double normalise(std::vector<double>& logs) {
  const double most = *std::ranges::max_element(logs);
  double sum = 0.0;
  for (double& one : logs) sum += one = std::exp(one - most);
  for (double& one : logs) one /= sum;
  return most + std::log(sum);
}

/// The rows of a linear model that `rows` name.
LinearModel part_of(const LinearModel& model, const std::vector<std::size_t>& rows) {
  LinearModel part{model.at, VectorXd(static_cast<Index>(rows.size())),
                   MatrixXd(static_cast<Index>(rows.size()), model.slopes.cols())};
  for (Index i = 0; i < part.values.size(); ++i) {
    const auto row = static_cast<Index>(rows[static_cast<std::size_t>(i)]);
    part.values[i] = model.values[row];
    part.slopes.row(i) = model.slopes.row(row);
  }
  return part;
}

/// Posteriors under several priors as the one that has their mean and variance.
Posterior merged(const std::vector<Posterior>& parts, const std::vector<double>& weights) {
  Posterior whole =
      parts[static_cast<std::size_t>(std::ranges::max_element(weights) - weights.begin())];
  whole.constants.setZero();
  whole.covariance.setZero();
  double log_noise = 0.0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    whole.constants += weights[i] * parts[i].constants;
    log_noise += weights[i] * std::log(parts[i].noise);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const VectorXd away = parts[i].constants - whole.constants;
    whole.covariance += weights[i] * (parts[i].covariance + away * away.transpose());
  }
  whole.noise = std::exp(log_noise);
  return whole;
}

/// Weights are the evidences; what hardly weighs is dropped.
void weigh(std::vector<Hypothesis>& known) {
  std::vector<double> weights;
  for (const Hypothesis& one : known) weights.push_back(one.posterior.log_evidence);
  normalise(weights);
  const double least = kLeastWeight * *std::ranges::max_element(weights);
  double sum = 0.0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    known[i].weight = weights[i];
    if (weights[i] >= least) sum += weights[i];
  }
  std::erase_if(known, [&](const Hypothesis& one) { return one.weight < least; });
  for (Hypothesis& one : known) one.weight /= sum;
  std::ranges::stable_sort(known, std::greater{}, &Hypothesis::weight);
}

const Hypothesis& most_probable(const std::vector<Hypothesis>& known) {
  return *std::ranges::max_element(
      known, {}, [](const Hypothesis& one) { return one.posterior.log_evidence; });
}

}  // namespace

RunFit::RunFit(std::vector<ObservedRun> runs, const Uncertainty& uncertainty,
               std::vector<Uncertain> constants, WhatIsKnown known, const std::atomic<bool>* stop)
    : runs_(std::move(runs)),
      uncertainty_(uncertainty),
      constants_(std::move(constants)),
      known_(std::move(known)),
      stop_(stop),
      start_(linear_model(quantities_of(runs_, {}),
                          VectorXd::Zero(static_cast<Index>(constants_.size())),
                          known_.priors.back().prior.covariance.diagonal().cwiseSqrt())) {}

std::vector<Hypothesis> RunFit::fit(const std::vector<std::size_t>& rows) const {
  const std::vector<ObservedRun> part = part_of(rows);
  std::vector<Hypothesis> known{hypothesis(part, rows, {})};
  for (StackChoice best; known_.other_name > 0;) {
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

std::vector<Forecast> RunFit::forecasts(const std::vector<Hypothesis>& hypotheses,
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

Posterior RunFit::refit(const LinearModel& near, const std::vector<std::size_t>& rows) const {
  const LinearModel model = prequel::part_of(near, rows);
  VectorXd prior_variance = VectorXd::Zero(model.at.size());
  const LogQuantities linear = [&](const VectorXd& u) -> VectorXd {
    heed(stop_);
    return model.values + model.slopes * (u - model.at);
  };
  return under_priors(part_of(rows), linear, model, prior_variance);
}

std::vector<Forecast> RunFit::forecasts_near(const LinearModel& near, const Posterior& refitted,
                                             const std::vector<std::size_t>& rows) {
  const LinearModel model = prequel::part_of(near, rows);
  const VectorXd values = model.values + model.slopes * (refitted.constants - model.at);
  std::vector<Forecast> result;
  for (Index i = 0; i < values.size(); ++i) {
    const VectorXd slope = model.slopes.row(i).transpose();
    const double variance = slope.dot(refitted.covariance * slope);
    result.push_back({values[i], std::sqrt(variance + refitted.noise * refitted.noise)});
  }
  return result;
}

double RunFit::one_factor(const std::vector<std::size_t>& rows) const {
  std::vector<double> gaps;
  for (const std::size_t row : rows) {
    const Observation& seen = runs_[row].seen;
    if (seen.kind == Observation::Kind::value) gaps.push_back(seen.log_value - as_files_say(row));
  }
  return quantile(gaps, 0.5);
}

LogQuantities RunFit::quantities_of(const std::vector<ObservedRun>& part,
                                    const StackChoice& choice) const {
  return [stop = stop_,
          known = log_quantities(part, uncertainty_, constants_, choice)](const VectorXd& u) {
    heed(stop);
    return known(u);
  };
}

std::vector<ObservedRun> RunFit::part_of(const std::vector<std::size_t>& rows) const {
  std::vector<ObservedRun> part;
  for (const std::size_t row : rows) part.push_back(runs_[row]);
  return part;
}

/// Tests whether a choice changes the value of any row against another one.
bool RunFit::tells(const std::vector<ObservedRun>& part, const StackChoice& choice,
                   const StackChoice& other) const {
  constexpr double kFelt = 0.002;
  const auto values = [&](const StackChoice& one) { return quantities_of(part, one)(start_.at); };
  return (values(choice) - values(other)).cwiseAbs().maxCoeff() > kFelt;
}

/// The fit under each prior, merged by how probable each is; the variances of the constants before.
Posterior RunFit::under_priors(const std::vector<ObservedRun>& part,
                               const LogQuantities& quantities, LinearModel start,
                               VectorXd& prior_variance) const {
  std::vector<Posterior> parts;
  std::vector<double> weights;
  for (const WeighedPrior& one : known_.priors) {
    parts.push_back(posterior(one.prior, seen_of(part), quantities, start));
    weights.push_back(parts.back().log_evidence + std::log(one.weight));
  }
  const double log_evidence = normalise(weights);
  for (std::size_t i = 0; i < known_.priors.size(); ++i) {
    prior_variance += weights[i] * known_.priors[i].prior.covariance.diagonal();
  }
  Posterior whole = merged(parts, weights);
  whole.log_evidence = log_evidence;
  return whole;
}

Hypothesis RunFit::hypothesis(const std::vector<ObservedRun>& part,
                              const std::vector<std::size_t>& rows,
                              const StackChoice& choice) const {
  const LogQuantities quantities = quantities_of(part, choice);
  LinearModel start = prequel::part_of(start_, rows);
  if (choice != StackChoice{}) start.values = quantities(start.at);
  Hypothesis result{choice, {}, VectorXd::Zero(start.at.size()), 0.0};
  result.posterior = under_priors(part, quantities, std::move(start), result.prior_sd);
  result.prior_sd = result.prior_sd.cwiseSqrt();
  for (const std::string& name : choice) {
    if (!name.empty()) result.posterior.log_evidence += std::log(known_.other_name);
  }
  return result;
}

}  // namespace prequel
