#include "calibrate/spread/constant_spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "calibrate/spread/stack_spread.hpp"
#include "calibrate/statistics/error_statistics.hpp"
#include "calibrate/validate/run_inputs.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/student_t.hpp"
#include "models/stack/software.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr std::size_t kMostRows = 24;   ///< of one case: more say the same again
constexpr std::size_t kFewestRows = 3;  ///< fewer tell too little of several constants
constexpr double kMostSpread = 2.0;     ///< constants that saturate would run away
constexpr int kFixedPointRounds = 14;
constexpr double kPriorCases = 2.0;
constexpr double kHeld = 0.01;  ///< spread of what is as good as known

/// The quantity that tables tell of: times of seconds, memory of printed bytes.
enum class RunQuantity : std::uint8_t { time, memory };

bool tells(const MeasuredRun& run, RunQuantity told) {
  if (run.status != RunStatus::ok || !run.apart.empty()) return false;
  return told == RunQuantity::time ? run.sec_per_iter.has_value() : run.mem_gib.has_value();
}

std::vector<ObservedRun> observed(const Library& library, const std::vector<MeasuredRun>& runs,
                                  RunQuantity told) {
  return told == RunQuantity::time ? observed_times(library, runs) : observed_memory(library, runs);
}

const NoisePrior& noise_of(const Uncertainty& uncertainty, RunQuantity told) {
  return told == RunQuantity::time ? uncertainty.time_noise : uncertainty.memory_noise;
}

/// Rows of one file, cluster and stack, thinned.
std::map<std::string, std::vector<MeasuredRun>> tables_of(const std::vector<MeasuredRun>& runs,
                                                          RunQuantity told) {
  std::map<std::string, std::vector<MeasuredRun>> tables;
  for (const MeasuredRun& run : runs) {
    if (!tells(run, told)) continue;
    tables[fmt::format("{} {} {}", run.file, run.cluster, run.software)].push_back(run);
  }
  for (auto& [name, rows] : tables) {
    const std::size_t step = (rows.size() + kMostRows - 1) / kMostRows;
    std::vector<MeasuredRun> kept;
    for (std::size_t i = 0; i < rows.size(); i += std::max<std::size_t>(1, step)) {
      kept.push_back(rows[i]);
    }
    rows = std::move(kept);
  }
  return tables;
}

/// Which constants tables tell of: of time what an exchange of stacks exchanges, which stands in
/// the stack's file; all of memory.
using Exchanged = std::array<bool, kUncertain>;
Exchanged exchanged_in(const Library& library, const std::vector<MeasuredRun>& runs) {
  Exchanged exchanged{};
  std::fill(exchanged.begin() + kUncertainOfTime, exchanged.end(), true);
  const std::vector<ObservedRun> observed = observed_times(library, runs);
  if (observed.empty()) return exchanged;
  const Scenario& scenario = observed.front().scenario;
  for (std::size_t k = 0; k < kUncertainOfTime; ++k) {
    exchanged[k] = std::ranges::any_of(
        fields_of(scenario, Uncertain(k)),
        [](const UncertainField& field) { return field.path.starts_with("software."); });
  }
  return exchanged;
}

/// Returns the uncertainty before any table tells of it. Constants of devices and clusters are the
/// table's own in every case, so that the error of a foreign stack is not theirs.
Uncertainty before_tables(const Uncertainty& present, const Exchanged& exchanged) {
  Uncertainty before = present;
  before.memory_noise = {kMemoryNoiseGuess};
  for (std::size_t k = 0; k < kUncertain; ++k) {
    ConstantPrior& prior = before.constants[k];
    if (!exchanged[k]) {
      prior.sd = kHeld;
    } else if (prior.guess > 0) {
      prior.sd = prior.guess;
    }
  }
  return before;
}

/// A case as a linear model around its own fit.
struct Case {
  SpreadCase told;
  std::vector<Observation> seen;
  LinearModel model;
  LinearModel start;  ///< around the constants as their files have them

  /// ln(measured / predicted) of a row by these.
  [[nodiscard]] double gap(std::size_t row) const {
    return seen[row].log_value - start.values[static_cast<Index>(row)];
  }
  [[nodiscard]] double median_error() const {
    std::vector<double> gaps;
    for (std::size_t i = 0; i < seen.size(); ++i) gaps.push_back(gap(i));
    return std::abs(quantile(gaps, 0.5));
  }
};

std::optional<Case> case_of(const Library& library, const std::string& table,
                            std::vector<MeasuredRun> rows, const Software& own,
                            const std::string& software, RunQuantity told,
                            const Uncertainty& uncertainty) {
  for (MeasuredRun& row : rows) {
    row.software = software;
    // How the host launches is a name, not a number: a stack that blocks says nothing of how far
    // one that does not lies from it.
    if (!row.launch) row.launch = own.host.launch;
  }
  const std::vector<ObservedRun> observed = prequel::observed(library, rows, told);
  if (observed.size() < kFewestRows || 2 * observed.size() < rows.size()) return std::nullopt;
  const std::vector<Uncertain> constants = constants_of(told == RunQuantity::time);
  const Prior wide = prior_of(uncertainty, constants, noise_of(uncertainty, told), 1.5);
  const LogQuantities quantities = log_quantities(observed, uncertainty, constants, {});
  Case result;
  const VectorXd deviations = wide.covariance.diagonal().cwiseSqrt();
  result.start = linear_model(quantities, VectorXd::Zero(deviations.size()), deviations);
  for (const ObservedRun& run : observed) result.seen.push_back(run.seen);
  if (result.median_error() > std::log(2.0)) return std::nullopt;
  const Posterior fit = posterior(wide, result.seen, quantities, result.start);
  result.model = fit.model;
  result.told = {table,
                 own_name(observed.front().scenario.cluster),
                 software,
                 own.name == software,
                 told == RunQuantity::memory,
                 observed.size(),
                 fit.noise};
  return result;
}

/// Stacks that were validated and shard as the table's own does: others differ in structure.
std::vector<std::string> foreign_stacks(const Library& library, const Software& mine,
                                        const std::string& own) {
  std::vector<std::string> stacks;
  for (const std::string& name : library.names("software")) {
    const Software other = library.open("software", name).read_once(read_software);
    if (name == own || !other.validated ||
        other.communication.fully_sharded_from_zero != mine.communication.fully_sharded_from_zero) {
      continue;
    }
    stacks.push_back(name);
  }
  return stacks;
}

/// Tests whether the stack, or a release that stands in for it, has a file.
bool is_known(const Library& library, const std::string& software) {
  try {
    (void)library.open("software", software);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Second moments of the constants' posteriors in the cases that feel them.
struct Moments {
  std::vector<double> sums = std::vector<double>(kUncertain);
  std::vector<std::size_t> cases = std::vector<std::size_t>(kUncertain);

  void add(const Case& one, const Prior& prior) {
    const LogQuantities linear = [&](const VectorXd& u) -> VectorXd {
      return one.model.values + one.model.slopes * (u - one.model.at);
    };
    const Posterior found = posterior(prior, one.seen, linear, one.model);
    const std::vector<Uncertain> constants = constants_of(!one.told.memory);
    for (std::size_t k = 0; k < constants.size(); ++k) {
      const auto i = static_cast<Index>(k);
      if (one.model.slopes.col(i).isZero()) continue;
      const auto place = static_cast<std::size_t>(constants[k]);
      sums[place] += found.constants[i] * found.constants[i] + found.covariance(i, i);
      ++cases[place];
    }
  }
};

/// Returns the moments of cases: of times by the constants of their own or of other stacks, or of
/// memory.
Moments moments_of(const std::vector<Case>& cases, const Uncertainty& uncertainty, RunQuantity told,
                   bool own) {
  Moments moments;
  const Prior prior =
      prior_of(uncertainty, constants_of(told == RunQuantity::time), noise_of(uncertainty, told));
  for (const Case& one : cases) {
    if (one.told.own == own && one.told.memory == (told == RunQuantity::memory))
      moments.add(one, prior);
  }
  return moments;
}

/// The share of the spreads that the own constants keep: its square is the mean of u² over σ².
double own_level(const std::vector<Case>& cases, const Uncertainty& uncertainty) {
  double level = 1.0;
  for (int round = 0; round < kFixedPointRounds; ++round) {
    Uncertainty narrowed = uncertainty;
    for (ConstantPrior& prior : narrowed.constants) prior.sd *= level;
    const Moments moments = moments_of(cases, narrowed, RunQuantity::time, true);
    double sum = 0.0, count = 0.0;
    for (std::size_t k = 0; k < kUncertainOfTime; ++k) {
      const double sd = uncertainty.constants[k].sd;
      sum += moments.sums[k] / (sd * sd);
      count += static_cast<double>(moments.cases[k]);
    }
    if (count == 0) return 1.0;
    level = std::sqrt(sum / count);
  }
  return level;
}

/// Times of each table by the constants of other stacks. A user names a stack that is like his own:
/// of all others the half whose median error is smaller.
std::map<std::string, std::vector<const Case*>> by_likely_stacks(const std::vector<Case>& cases) {
  std::map<std::string, std::vector<const Case*>> tables;
  for (const Case& one : cases) {
    if (!one.told.own && !one.told.memory) tables[one.told.table].push_back(&one);
  }
  for (auto& [table, stacks] : tables) {
    std::ranges::stable_sort(stacks, {}, &Case::median_error);
    stacks.resize((stacks.size() + 1) / 2);
  }
  return tables;
}

/// The share of the spreads at which these times are covered as stated: all that is known of a
/// stack of which no run was seen. Tables count by their rows, no more than a few.
double unseen_level(const std::vector<Case>& cases, const Uncertainty& uncertainty) {
  constexpr double kLeast = 0.1, kMost = 3.0, kStep = 1.05;
  const Prior prior = prior_of(uncertainty, constants_of(true), uncertainty.time_noise);
  struct Row {
    double gap{}, spread{}, weight{};
  };
  std::vector<Row> rows;
  double all = 0.0;
  for (const auto& [table, stacks] : by_likely_stacks(cases)) {
    for (const Case* one : stacks) {
      const std::size_t count = one->seen.size();
      const double weight = static_cast<double>(std::min(kCountedRows, count)) /
                            static_cast<double>(count * stacks.size());
      for (std::size_t i = 0; i < count; ++i) {
        const VectorXd slopes = one->start.slopes.row(static_cast<Index>(i));
        rows.push_back({one->gap(i), std::sqrt(slopes.dot(prior.covariance * slopes)), weight});
        all += weight;
      }
    }
  }
  const double noise = typical(uncertainty.time_noise);
  const double width = t4_half_width(kCoverageLevels[1]);
  const auto covered = [&](double level) {
    double inside = 0.0;
    for (const Row& row : rows) {
      const bool is_inside = std::abs(row.gap) <= width * std::hypot(level * row.spread, noise);
      inside += is_inside ? row.weight : 0.0;
    }
    return rows.empty() ? 1.0 : inside / all;
  };
  double level = kLeast;
  while (level < kMost && covered(level) < kCoverageLevels[1]) level *= kStep;
  return level;
}

/// Each table with the constants of its own stack, and its times with those of all others.
std::vector<Case> cases_of(const Library& library, const std::vector<MeasuredRun>& runs,
                           const Uncertainty& before) {
  std::vector<Case> cases;
  for (const RunQuantity told : {RunQuantity::time, RunQuantity::memory}) {
    for (const auto& [table, rows] : tables_of(runs, told)) {
      const Document cluster = cluster_document(library, rows.front());
      const std::string named = rows.front().software.empty()
                                    ? cluster.read_once(read_cluster).software
                                    : rows.front().software;
      if (!is_known(library, named)) continue;
      Software own = library.open("software", named).read_once(read_software);
      own.name = named;
      std::vector<std::string> stacks{named};
      if (told == RunQuantity::time) {
        for (std::string& other : foreign_stacks(library, own, named)) {
          stacks.push_back(std::move(other));
        }
      }
      for (const std::string& software : stacks) {
        if (auto one = case_of(library, table, rows, own, software, told, before)) {
          cases.push_back(std::move(*one));
        }
      }
    }
  }
  return cases;
}

}  // namespace

SpreadReport estimate_spread(const Library& library, const std::vector<MeasuredRun>& runs,
                             const Uncertainty& present) {
  const Exchanged exchanged = exchanged_in(library, runs);
  const Uncertainty before = before_tables(present, exchanged);
  const std::vector<Case> cases = cases_of(library, runs, before);
  if (cases.empty()) throw InputError("no table of at least three runs that can be predicted");

  Uncertainty estimate = before;
  Moments moments;
  for (int round = 0; round < kFixedPointRounds; ++round) {
    moments = moments_of(cases, estimate, RunQuantity::time, false);
    const Moments memory = moments_of(cases, estimate, RunQuantity::memory, true);
    for (std::size_t k = 0; k < kUncertain; ++k) {
      moments.sums[k] += memory.sums[k];
      moments.cases[k] += memory.cases[k];
      if (!exchanged[k]) continue;
      const double guess = before.constants[k].sd;
      const double second = (moments.sums[k] + kPriorCases * guess * guess) /
                            (static_cast<double>(moments.cases[k]) + kPriorCases);
      estimate.constants[k].sd = std::min(kMostSpread, std::sqrt(second));
    }
  }

  SpreadReport report;
  report.unseen_level = unseen_level(cases, estimate);
  std::vector<double> noise;
  for (const Case& one : cases) {
    report.cases.push_back(one.told);
    if (one.told.own && !one.told.memory) noise.push_back(std::log(one.told.noise));
  }
  for (std::size_t k = 0; k < kUncertain; ++k) {
    if (!exchanged[k]) {
      estimate.constants[k].sd = present.constants[k].sd;
      moments.cases[k] = 0;
    }
    report.constants.push_back({Uncertain(k), exchanged[k], moments.cases[k],
                                present.constants[k].sd, estimate.constants[k].sd});
  }
  report.own_level = own_level(cases, estimate);
  const double middle = quantile(noise, 0.5);
  report.noise_median = std::exp(middle);
  double squares = 0.0;
  for (const double one : noise) squares += (one - middle) * (one - middle);
  report.noise_log_sd =
      noise.size() > 1 ? std::sqrt(squares / static_cast<double>(noise.size() - 1)) : 0.0;
  return report;
}

}  // namespace prequel
