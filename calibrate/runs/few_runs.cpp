#include "calibrate/runs/few_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "calibrate/runs/run_fit.hpp"
#include "calibrate/statistics/error_statistics.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
namespace {

using Rows = std::vector<std::size_t>;

/// Rows in an order that is the same with every library (Fisher and Yates 1938).
Rows shuffled(std::size_t count, std::mt19937_64& bits) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(rows[i - 1], rows[bits() % i]);
  return rows;
}

class LeftOutErrors {
 public:
  LeftOutErrors(const RunFit& fit, std::size_t fitted) : fit_(fit) { sum_.fitted = fitted; }

  void add(const Rows& known, const Rows& others) {
    const std::vector<Forecast> forecasts = fit_.forecasts(fit_.fit(known), others);
    const double factor = fit_.one_factor(known);
    std::vector<double> errors, by_factor;
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double measured = fit_.runs()[others[i]].seen.log_value;
      const double error = forecasts[i].log_median - measured;
      errors.push_back(std::abs(error));
      by_factor.push_back(std::abs(fit_.as_files_say(others[i]) + factor - measured));
      distances_.push_back(error / forecasts[i].scale);
    }
    const double median = quantile(errors, 0.5);
    ++sum_.picks;
    sum_.median += median;
    sum_.p90 += quantile(errors, 0.9);
    sum_.worst = std::max(sum_.worst, median);
    sum_.one_factor += quantile(by_factor, 0.5);
  }

  [[nodiscard]] std::size_t fitted() const { return sum_.fitted; }
  [[nodiscard]] FewRuns result() const {
    FewRuns mean = sum_;
    for (double* one : {&mean.median, &mean.p90, &mean.one_factor}) {
      *one /= static_cast<double>(sum_.picks);
    }
    mean.coverage = coverage(distances_);
    return mean;
  }

 private:
  const RunFit& fit_;
  FewRuns sum_;
  std::vector<double> distances_;
};

}  // namespace

std::vector<FewRuns> few_runs(const Library& library, const std::vector<MeasuredRun>& runs,
                              const Uncertainty& uncertainty, const std::vector<int>& counts,
                              int picks, const std::atomic<bool>* stop) {
  std::vector<ObservedRun> times = observed_times(library, runs);
  if (times.size() < 3) throw InputError("few", "needs at least three runs that can be predicted");
  const std::vector<Uncertain> constants = constants_of(true);
  WhatIsKnown before_runs = what_is_known(times, uncertainty, constants);
  const RunFit fit(std::move(times), uncertainty, constants, std::move(before_runs), stop);
  const std::size_t all = fit.runs().size();
  std::mt19937_64 bits{20'240'817};
  LeftOutErrors before(fit, 0);
  before.add({}, shuffled(all, bits));
  std::vector<FewRuns> result{before.result()};
  std::vector<LeftOutErrors> told;
  for (const int count : counts) {
    if (const auto known = static_cast<std::size_t>(count); known + 2 <= all) {
      told.emplace_back(fit, known);
    }
  }
  // A pick of more rows has those of fewer: what more rows bring is not a matter of luck.
  for (int pick = 0; pick < picks; ++pick) {
    const Rows rows = shuffled(all, bits);
    for (LeftOutErrors& one : told) {
      const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(one.fitted());
      one.add({rows.begin(), middle}, {middle, rows.end()});
    }
  }
  for (const LeftOutErrors& one : told) result.push_back(one.result());
  return result;
}

}  // namespace prequel
