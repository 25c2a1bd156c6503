#include "calibrate/runs/run_quantities.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/validate/run_inputs.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/parallel.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

/// How far constants may be off: a share of the way from the variance that a checked stack has to
/// that of one never seen, and how probable that is before the runs, for each of the two. Checked
/// with `calibrate runs --few` over the tables of data/runs.
struct Share {
  double share{}, checked{}, unseen{};
};
constexpr std::array<Share, 4> kShares{
    {{0.0, 0.9, 0.05}, {0.03, 0.07, 0.15}, {0.2, 0.02, 0.3}, {1.0, 0.01, 0.5}}};
/// Odds that a name in the files of a stack is another one.
constexpr double kOtherNameChecked = 0.02, kOtherNameUnseen = 0.5;
/// The scatter of a checked stack's new runs is that of its old ones with this weight, within this.
constexpr double kKnownNoise = 0.8;
constexpr double kKnownNoiseLogSd = 0.4;

struct Seen {
  AnswerPart quantity{};
  Observation seen;
};

/// Rows that can be predicted, with what `observe` makes of them; a row may give nothing.
template <class Observe>
std::vector<ObservedRun> observed(const Library& library, const std::vector<MeasuredRun>& runs,
                                  const Observe& observe) {
  RunInputs inputs(library, {});
  std::vector<ObservedRun> result;
  for (const MeasuredRun& run : runs) {
    if (!run.contradiction.empty() || !run.apart.empty() || !run.plan.gbs) continue;
    try {
      Scenario scenario = inputs.scenario(run).scenario;
      const std::optional<Seen> seen = observe(run, scenario);
      if (!seen) continue;
      (void)predict(scenario);
      result.push_back({&run, std::move(scenario), seen->quantity, seen->seen});
    } catch (const InputError&) {
      continue;  // validate names the reason
    }
  }
  return result;
}

/// Makes the choice, but where the row itself says.
void choose(ObservedRun& observed, const StackChoice& choice) {
  const auto& [kernel, launch, overlap] = choice;
  Software& software = observed.scenario.software;
  if (!kernel.empty()) software.kernels.flash_kernel = kernel;
  if (!launch.empty() && !observed.run->launch) software.host.launch = *named<Launch>(launch);
  if (!overlap.empty()) {
    software.communication.gradient_overlap = *named<GradientOverlap>(overlap);
  }
}

bool has_kernel(const Device& device, const std::string& kernel) {
  return std::ranges::any_of(device.attention,
                             [&](const AttentionKernel& one) { return one.name == kernel; });
}

}  // namespace

std::string text(const StackChoice& choice) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const std::string_view key = kStackNames[i].substr(kStackNames[i].rfind('.') + 1);
    if (!choice[i].empty()) words.push_back(fmt::format("{} {}", key, choice[i]));
  }
  return words.empty() ? "as the files say" : fmt::format("{}", fmt::join(words, ", "));
}

std::vector<Uncertain> constants_of(bool of_time) {
  std::vector<Uncertain> constants;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    if ((i < kUncertainOfTime) == of_time) constants.push_back(Uncertain(i));
  }
  return constants;
}

std::vector<UncertainField> fields_at(Scenario scenario, const Uncertainty& uncertainty,
                                      Uncertain constant, double u) {
  move(scenario, uncertainty, constant, u);
  return fields_of(scenario, constant);
}

double value_at(const Scenario& scenario, const Uncertainty& uncertainty, Uncertain constant,
                const std::string& path, double u) {
  for (const UncertainField& field : fields_at(scenario, uncertainty, constant, u)) {
    if (field.path == path) return field.value;
  }
  return std::exp(u);
}

std::vector<ObservedRun> observed_times(const Library& library,
                                        const std::vector<MeasuredRun>& runs) {
  return observed(
      library, runs, [](const MeasuredRun& run, const Scenario&) -> std::optional<Seen> {
        if (run.status != RunStatus::ok || !run.sec_per_iter) return std::nullopt;
        return Seen{&LogAnswer::time, {Observation::Kind::value, std::log(*run.sec_per_iter)}};
      });
}

std::vector<ObservedRun> observed_memory(const Library& library,
                                         const std::vector<MeasuredRun>& runs) {
  using Kind = Observation::Kind;
  return observed(library, runs,
                  [](const MeasuredRun& run, const Scenario& scenario) -> std::optional<Seen> {
                    const double card = std::log(scenario.device.memory.value);
                    switch (run.status) {
                      case RunStatus::oom: return Seen{&LogAnswer::needed, {Kind::at_least, card}};
                      case RunStatus::failed: return std::nullopt;  // of what, it does not say
                      case RunStatus::ok: break;
                    }
                    if (!run.mem_gib) return Seen{&LogAnswer::needed, {Kind::at_most, card}};
                    return Seen{&LogAnswer::printed, {Kind::value, std::log(*run.mem_gib * kGiB)}};
                  });
}

std::vector<StackChoice> neighbours(const StackChoice& from, const std::vector<ObservedRun>& runs) {
  std::vector<StackChoice> result;
  if (runs.empty()) return result;
  const Scenario& first = runs.front().scenario;
  const auto add = [&](std::size_t which, std::string_view said, std::string_view word) {
    if (word == said || !from[which].empty()) return;
    result.push_back(from);
    result.back()[which] = word;
  };
  for (const AttentionKernel& kernel : first.device.attention) {
    const bool everywhere = std::ranges::all_of(
        runs, [&](const ObservedRun& run) { return has_kernel(run.scenario.device, kernel.name); });
    if (everywhere) add(0, first.software.kernels.flash_kernel, kernel.name);
  }
  for (const Launch one : all_of<Launch>()) add(1, name(first.software.host.launch), name(one));
  for (const GradientOverlap one : {GradientOverlap::none, GradientOverlap::always}) {
    add(2, name(first.software.communication.gradient_overlap), name(one));
  }
  return result;
}

LogQuantities log_quantities(const std::vector<ObservedRun>& runs, const Uncertainty& uncertainty,
                             const std::vector<Uncertain>& constants, const StackChoice& choice) {
  std::vector<ObservedRun> chosen = runs;
  for (ObservedRun& run : chosen) choose(run, choice);
  return [runs = std::move(chosen), uncertainty, constants](const Eigen::VectorXd& u) {
    Deviations moved{};
    for (std::size_t k = 0; k < constants.size(); ++k) {
      moved[static_cast<std::size_t>(constants[k])] = u[static_cast<Index>(k)];
    }
    Eigen::VectorXd values(static_cast<Index>(runs.size()));
    parallel_for(runs.size(), [&](std::size_t i) {
      const LogAnswer answer = log_answer(runs[i].scenario, uncertainty, moved);
      values[static_cast<Index>(i)] = answer.*runs[i].quantity;
    });
    return values;
  };
}

Prior prior_of(const Uncertainty& uncertainty, const std::vector<Uncertain>& constants,
               const NoisePrior& noise, double level) {
  const auto count = static_cast<Index>(constants.size());
  Prior prior{Eigen::MatrixXd::Zero(count, count), noise};
  const auto deviation = [&](Uncertain constant) {
    return level * uncertainty.constants[index_of(constant)].sd;
  };
  const auto place = [&](Uncertain constant) {
    return std::ranges::find(constants, constant) - constants.begin();
  };
  for (Index i = 0; i < count; ++i) {
    const double sd = deviation(constants[static_cast<std::size_t>(i)]);
    prior.covariance(i, i) = sd * sd;
  }
  for (const Correlation& one : uncertainty.correlations) {
    const Index a = place(one.first), b = place(one.second);
    if (a == count || b == count || a == b) continue;
    prior.covariance(a, b) = prior.covariance(b, a) =
        one.value * deviation(one.first) * deviation(one.second);
  }
  return prior;
}

WhatIsKnown only_priors(const std::vector<ObservedRun>& runs, const Uncertainty& uncertainty,
                        const std::vector<Uncertain>& constants) {
  const bool of_time = runs.front().quantity == &LogAnswer::time;
  const NoisePrior& noise = of_time ? uncertainty.time_noise : uncertainty.memory_noise;
  return {{{prior_of(uncertainty, constants, noise), 1.0}}, 0.0};
}

WhatIsKnown what_is_known(const std::vector<ObservedRun>& runs, const Uncertainty& uncertainty,
                          const std::vector<Uncertain>& constants) {
  const bool of_time = runs.front().quantity == &LogAnswer::time;
  const Prior wide = only_priors(runs, uncertainty, constants).priors.front().prior;
  MatrixXd stated = MatrixXd::Zero(wide.covariance.rows(), wide.covariance.cols());
  double log_noise = 0.0;
  bool checked = false;
  for (const ObservedRun& run : runs) {
    const Spread spread = spread_of(run.scenario, uncertainty);
    checked = checked || spread.earned;
    log_noise += std::log(of_time ? spread.time_noise : spread.memory_noise);
    for (std::size_t i = 0; i < constants.size(); ++i) {
      for (std::size_t j = 0; j < constants.size(); ++j) {
        stated(static_cast<Index>(i), static_cast<Index>(j)) +=
            spread.covariance[static_cast<std::size_t>(constants[i])]
                             [static_cast<std::size_t>(constants[j])];
      }
    }
  }
  const auto count = static_cast<double>(runs.size());
  Prior known = wide;
  if (checked) {
    known.covariance = stated / count;
    for (NoisePart& part : known.noise) part.weight *= 1.0 - kKnownNoise;
    known.noise.push_back({kKnownNoise, std::exp(log_noise / count), kKnownNoiseLogSd});
  } else {
    const double own = of_time ? uncertainty.levels.own : uncertainty.levels.own_memory;
    known.covariance *= own * own;
  }
  const auto site = std::ranges::find(constants, Uncertain::all) - constants.begin();
  if (static_cast<std::size_t>(site) < constants.size()) {
    // The part that runs of a stack share on a cluster includes the site's drift.
    double& shared = known.covariance(site, site);
    shared = std::max(shared, uncertainty.levels.drift * uncertainty.levels.drift);
  }
  WhatIsKnown result{{}, checked ? kOtherNameChecked : kOtherNameUnseen};
  for (const Share& one : kShares) {
    result.priors.push_back({known, checked ? one.checked : one.unseen});
    result.priors.back().prior.covariance += one.share * (wide.covariance - known.covariance);
  }
  return result;
}

}  // namespace prequel
