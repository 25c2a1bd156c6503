#include "sim/answer/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>

#include "hw/base/portable_math.hpp"
#include "models/layers/parts.hpp"
#include "sim/answer/student_t.hpp"
#include "sim/step/plan_memory.hpp"

namespace prequel {
namespace {

constexpr int kDraws = 1000;  ///< of the odds of plans

constexpr double kStep = 0.35;  ///< of a difference, in deviations
constexpr std::size_t kShownSources = 3;

constexpr std::size_t at(Uncertain constant) {
  return static_cast<std::size_t>(constant);
}

/// How far answers may be off beside what files state, and why.
struct Level {
  KnownSpread time, memory;
  CheckedCluster here;  ///< what runs share on this cluster
  bool earned{};        ///< by runs of this stack on this cluster
  std::string basis;
};

const CheckedCluster* find_cluster(const CheckedStack& stack, const std::string& name) {
  const auto found = std::ranges::find(stack.clusters, name, &CheckedCluster::name);
  return found == stack.clusters.end() ? nullptr : &*found;
}

/// Whether enough runs tell of a stack's constants, on whatever cluster.
bool was_seen(const Software& software, bool experts, const Uncertainty& uncertainty) {
  if (software.validated) return true;
  const auto known = std::ranges::find_if(uncertainty.checked, [&](const CheckedStack& stack) {
    return stack.software == software.name && stack.experts == experts;
  });
  return known != uncertainty.checked.end() && known->time.rows >= kTellingRuns;
}

Level level_of(const Scenario& scenario, const Uncertainty& uncertainty) {
  const Software& software = scenario.software;
  const std::string& cluster = own_name(scenario.cluster);
  const SpreadLevels& levels = uncertainty.levels;
  const auto unchecked = [&](double level, double times) {
    return Level{{level, typical(uncertainty.time_noise), 0},
                 {times * levels.other_memory, typical(uncertainty.memory_noise), 0},
                 {},
                 false,
                 fmt::format("constants of {} were not checked on {}", software.name, cluster)};
  };
  const auto known = std::ranges::find_if(uncertainty.checked, [&](const CheckedStack& stack) {
    const auto& releases = stack.releases;
    return stack.software == software.name && stack.experts == scenario.model.has_experts() &&
           find_cluster(stack, cluster) != nullptr &&
           (software.stands_for.empty() ||
            std::ranges::find(releases, software.stands_for) != releases.end());
  });
  if (known != uncertainty.checked.end()) {
    return {known->time, known->memory, *find_cluster(*known, cluster), true,
            fmt::format("constants of {} were checked on {}: {} runs of {} models", software.name,
                        cluster, known->time.rows, known->experts ? "expert" : "dense")};
  }
  const bool seen =
      !software.other_framework && was_seen(software, scenario.model.has_experts(), uncertainty);
  const double level_elsewhere = seen ? levels.other : levels.unseen;
  const std::string& machine = scenario.cluster.stands_for;
  if (software.stands_for.empty() && machine.empty()) return unchecked(level_elsewhere, 1.0);
  // Which machine it is tells little of memory.
  const double of_stack = software.stands_for.empty() ? 1.0 : levels.unknown;
  const double of_machine = machine.empty() ? 1.0 : levels.machine;
  const double level_here = std::max(of_stack, of_machine) * levels.other;
  Level level = unchecked(std::max(level_elsewhere, level_here), of_stack);
  level.basis = software.stands_for.empty()
                    ? fmt::format("{} as a usual machine: no file of {} is known",
                                  scenario.cluster.name, machine)
                    : fmt::format("constants of {}: none of {} are known", software.name,
                                  software.stands_for);
  return level;
}

/// The input that a path begins with has the spread, by the rest of the path.
std::optional<double> stated_spread(const Scenario& scenario, const std::string& path) {
  const std::size_t dot = path.find('.');
  const std::string input = path.substr(0, dot);
  const auto& spreads = input == "device"    ? scenario.device.spreads
                        : input == "cluster" ? scenario.cluster.spreads
                                             : scenario.software.spreads;
  const auto found = std::ranges::find(spreads, path.substr(dot + 1), &StatedSpread::path);
  if (found == spreads.end()) return std::nullopt;
  return found->sd;
}

/// The widest u that the files state for a number of the constant: its relative spread over what
/// the number moves by with u.
std::optional<double> stated_deviation(const Scenario& scenario, const Uncertainty& uncertainty,
                                       Uncertain constant) {
  constexpr double kSmall = 0.01;
  std::optional<double> widest;
  if (const auto& calibration = scenario.software.calibration) {
    for (const Calibration::Spread& spread : calibration->spreads) {
      if (spread.constant == name(constant)) widest = spread.sd;
    }
  }
  if (scenario.device.spreads.empty() && scenario.cluster.spreads.empty() &&
      scenario.software.spreads.empty()) {
    return widest;
  }
  Scenario above = scenario, below = scenario;
  move(above, uncertainty, constant, kSmall);
  move(below, uncertainty, constant, -kSmall);
  const auto more = fields_of(above, constant), less = fields_of(below, constant);
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::optional<double> stated = stated_spread(scenario, more[i].path);
    if (!stated || more[i].value <= 0 || less[i].value <= 0) continue;
    const double rate = std::abs(portable::log(more[i].value / less[i].value)) / (2 * kSmall);
    if (rate > 1e-3) widest = std::max(widest.value_or(0.0), *stated / rate);
  }
  return widest;
}

}  // namespace

std::vector<std::string> unheard_spreads(const Scenario& scenario) {
  std::set<std::string> heard;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    for (const UncertainField& field : fields_of(scenario, Uncertain(i))) heard.insert(field.path);
  }
  std::vector<std::string> unheard;
  const auto look = [&](const char* input, const std::vector<StatedSpread>& spreads) {
    for (const StatedSpread& spread : spreads) {
      const std::string path = fmt::format("{}.{}", input, spread.path);
      if (!heard.contains(path)) unheard.push_back(path);
    }
  };
  look("device", scenario.device.spreads);
  look("cluster", scenario.cluster.spreads);
  look("software", scenario.software.spreads);
  return unheard;
}

namespace {

/// Whether a change of the constant can change the plan's time at all.
bool is_felt(const Scenario& scenario, Uncertain constant) {
  const Plan& plan = scenario.plan;
  switch (constant) {
    case Uncertain::node_links: return plan.gpus > 1;
    case Uncertain::network:
    case Uncertain::latency: return plan.gpus > scenario.cluster.devices_per_node;
    case Uncertain::rank_limit:
      return plan.gpus > scenario.cluster.devices_per_node &&
             scenario.software.communication.rank_rate_limit.value > 0;
    case Uncertain::blocking: return scenario.software.host.launch == Launch::blocking;
    case Uncertain::offload: return uses_host_memory(plan);
    case Uncertain::optimizer: return plan.offload == Offload::none;
    default: return true;
  }
}

/// Layer prices with their products, or their launches, slower by a factor.
LayerCosts with_products(LayerCosts layers, double factor) {
  each_part([&](Part part) {
    for (PassCost* pass : {&layers[part].forward, &layers[part].backward}) {
      const double products = pass->compute + pass->recompute - pass->attention - pass->stream;
      pass->compute += (factor - 1.0) * products;
      pass->weight_gradient *= factor;
    }
  });
  return layers;
}
LayerCosts with_launches(LayerCosts layers, double factor) {
  each_part([&](Part part) {
    layers[part].forward.host *= factor;
    layers[part].backward.host *= factor;
  });
  return layers;
}

double launch_seconds(const HostStack& host) {
  return (host.launch == Launch::blocking ? host.blocking_launch_per_layer
                                          : host.async_launch_per_layer)
      .value;
}

/// The layers' prices after one constant moved, where possible without pricing them again: products
/// and launches are proportional to one number each, and some constants are of no layer.
LayerCosts layers_after(const Scenario& before, const LayerCosts& layers, const Scenario& after,
                        Uncertain constant) {
  // Launches that are counted run ahead of the device: they show where they are the slower.
  const bool counted = before.software.host.one_launch.value > 0;
  switch (constant) {
    case Uncertain::gemm:
      if (counted) return price_layers(after);
      return with_products(layers, after.software.kernels.gemm_time_factor /
                                       before.software.kernels.gemm_time_factor);
    case Uncertain::host: {
      const double launches = launch_seconds(before.software.host);
      if (launches <= 0 || counted) return price_layers(after);
      return with_launches(layers, launch_seconds(after.software.host) / launches);
    }
    case Uncertain::network:
    case Uncertain::latency:
      // Groups of a layer inside a node know no network.
      return layer_question(before.plan, before.cluster).gpus == 0 ? layers : price_layers(after);
    case Uncertain::optimizer:
    case Uncertain::overlap:
    case Uncertain::fixed:
    case Uncertain::rank_limit: return layers;
    case Uncertain::offload:
      return offloads_activations(before.plan) ? price_layers(after) : layers;
    default: return price_layers(after);
  }
}

/// Variance of a logarithm with these slopes, without scatter.
double variance_of(const Deviations& slopes, const Spread& spread) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    if (slopes[i] == 0) continue;
    for (std::size_t j = 0; j < kUncertain; ++j) {
      sum += slopes[i] * spread.covariance[i][j] * slopes[j];
    }
  }
  return std::max(0.0, sum);
}

/// Of all constants at the priors' full spread.
double prior_scale(const Deviations& slopes, const Uncertainty& uncertainty) {
  Spread full;
  const auto sd = [&](Uncertain constant) { return uncertainty.constants[at(constant)].sd; };
  for (std::size_t i = 0; i < kUncertain; ++i) {
    full.covariance[i][i] = sd(Uncertain(i)) * sd(Uncertain(i));
  }
  for (const Correlation& one : uncertainty.correlations) {
    const double covariance = one.value * sd(one.first) * sd(one.second);
    full.covariance[at(one.first)][at(one.second)] = covariance;
    full.covariance[at(one.second)][at(one.first)] = covariance;
  }
  return std::sqrt(variance_of(slopes, full));
}

std::vector<SpreadSource> largest_sources(const Deviations& slopes, const Spread& spread) {
  const double noise = spread.time_noise * spread.time_noise;
  const double all = variance_of(slopes, spread) + noise;
  std::vector<SpreadSource> sources{{"run to run", noise / all}};
  for (std::size_t i = 0; i < kUncertain; ++i) {
    double part = 0.0;
    for (std::size_t j = 0; j < kUncertain; ++j) part += spread.covariance[i][j] * slopes[j];
    part *= slopes[i];
    if (part > 0) sources.push_back({std::string(kUncertainNames[i]), part / all});
  }
  std::ranges::stable_sort(sources, std::greater{}, &SpreadSource::share);
  sources.resize(std::min(sources.size(), kShownSources));
  return sources;
}

/// The most memory that any stage needs, and what is printed, with one constant moved.
std::pair<double, double> log_memory(const Scenario& scenario, const Prediction& prediction) {
  std::vector<std::int64_t> in_flight;
  for (const StagePrediction& stage : prediction.stages) {
    in_flight.push_back(stage.chunks_in_flight);
  }
  const PlanMemory memory = plan_memory(scenario, weights_of(scenario), in_flight);
  double needed = 0.0;
  for (const StageMemory& stage : memory.stages) {
    needed = std::max(needed, stage.allocated().value);
  }
  return {portable::log(memory.peak.value), portable::log(needed)};
}

double most_needed(const Prediction& prediction) {
  double needed = 0.0;
  for (const StagePrediction& stage : prediction.stages) {
    needed = std::max(needed, stage.memory.allocated().value);
  }
  return needed;
}

/// Standard normals (Box and Muller 1958) that are the same with every library.
class Normals {
 public:
  double operator()() {
    const double radius = std::sqrt(-2.0 * portable::log(uniform()));
    return radius * portable::cos(2.0 * std::numbers::pi * uniform());
  }
  /// sqrt(4 / chi² with 4 degrees of freedom): times a normal, Student's t.
  double heavy() { return std::sqrt(4.0 / (-2.0 * portable::log(uniform() * uniform()))); }

 private:
  double uniform() {
    constexpr double kSteps = 9007199254740992.0;  // 2^53
    return (static_cast<double>(bits_() >> 11U) + 0.5) / kSteps;
  }
  std::mt19937_64 bits_{20'240'817};
};

}  // namespace

std::array<Deviations, kUncertain> Spread::root() const {
  std::array<Deviations, kUncertain> lower{};
  for (std::size_t i = 0; i < kUncertain; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = covariance[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      if (i == j) {
        lower[i][i] = std::sqrt(std::max(0.0, sum));
      } else {
        lower[i][j] = lower[j][j] > 0 ? sum / lower[j][j] : 0.0;
      }
    }
  }
  return lower;
}

Spread spread_of(const Scenario& scenario, const Uncertainty& uncertainty) {
  const Level level = level_of(scenario, uncertainty);
  const auto& calibration = scenario.software.calibration;
  Spread spread;
  spread.earned = calibration || level.earned;
  spread.basis = calibration ? "constants calibrated by runs" : level.basis;
  spread.time_noise = calibration ? calibration->time_noise : level.time.noise;
  spread.memory_noise = level.memory.noise;
  Deviations deviation{};
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const auto stated = stated_deviation(scenario, uncertainty, Uncertain(i));
    const double share = i < kUncertainOfTime ? level.time.level : level.memory.level;
    deviation[i] = stated.value_or(share * uncertainty.constants[i].sd);
    spread.covariance[i][i] = deviation[i] * deviation[i];
  }
  const auto correlate = [&](Uncertain first, Uncertain second, double value) {
    const double covariance = value * deviation[at(first)] * deviation[at(second)];
    spread.covariance[at(first)][at(second)] = covariance;
    spread.covariance[at(second)][at(first)] = covariance;
  };
  double& all = spread.covariance[at(Uncertain::all)][at(Uncertain::all)];
  double& peak = spread.covariance[at(Uncertain::peak)][at(Uncertain::peak)];
  peak += level.here.memory * level.here.memory;
  if (calibration) {
    for (const Calibration::Correlation& one : calibration->correlations) {
      const auto first = uncertain_named(one.first), second = uncertain_named(one.second);
      if (first && second && first != second) correlate(*first, *second, one.value);
    }
    all += uncertainty.levels.drift * uncertainty.levels.drift;
  } else {
    // Runs of other devices tell nothing of kernels that nobody measured on this one.
    const double unmeasured = scenario.device.errors.unmeasured;
    all += unmeasured * unmeasured + level.here.time * level.here.time;
    for (const Correlation& one : uncertainty.correlations) {
      correlate(one.first, one.second, one.value);
    }
  }
  return spread;
}

Slopes slopes_of(const Scenario& scenario, const Prediction& prediction,
                 const Uncertainty& uncertainty, const Spread& spread) {
  const LayerCosts layers = price_layers(scenario);
  const auto log_seconds = [&](const Scenario& after, Uncertain constant) {
    return portable::log(
        iteration_time(after, layers_after(scenario, layers, after, constant)).value);
  };
  Slopes slopes;
  slopes.time[at(Uncertain::all)] = 1.0;
  slopes.printed[at(Uncertain::peak)] = slopes.needed[at(Uncertain::peak)] = 1.0;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const auto constant = Uncertain(i);
    if (constant == Uncertain::all || constant == Uncertain::peak) continue;
    if (!is_felt(scenario, constant)) continue;
    const double step = kStep * std::sqrt(spread.covariance[i][i]);
    if (step <= 0) continue;
    Scenario above = scenario, below = scenario;
    move(above, uncertainty, constant, step);
    move(below, uncertainty, constant, -step);
    if (constant < Uncertain::framework) {
      slopes.time[i] = (log_seconds(above, constant) - log_seconds(below, constant)) / (2.0 * step);
      continue;
    }
    const auto [printed_above, needed_above] = log_memory(above, prediction);
    const auto [printed_below, needed_below] = log_memory(below, prediction);
    slopes.printed[i] = (printed_above - printed_below) / (2.0 * step);
    slopes.needed[i] = (needed_above - needed_below) / (2.0 * step);
  }
  return slopes;
}

Interval interval(const Scenario& scenario, const Prediction& prediction,
                  const Uncertainty& uncertainty, double level) {
  const Spread spread = spread_of(scenario, uncertainty);
  const Slopes slopes = slopes_of(scenario, prediction, uncertainty, spread);
  const double width = t4_half_width(level);
  Interval result;
  result.level = level;
  result.earned = spread.earned;
  result.basis = spread.basis;
  result.time_scale =
      portable::hypot(std::sqrt(variance_of(slopes.time, spread)), spread.time_noise);
  const double time_factor = portable::exp(width * result.time_scale);
  result.time_low = prediction.sec_per_iter / time_factor;
  result.time_high = prediction.sec_per_iter * time_factor;
  result.memory_scale =
      portable::hypot(std::sqrt(variance_of(slopes.printed, spread)), spread.memory_noise);
  const double memory_factor = portable::exp(width * result.memory_scale);
  result.memory_low = prediction.peak_memory / memory_factor;
  // No more is printed than there is, unless the plan does not fit.
  const Bytes high = prediction.peak_memory * memory_factor;
  const bool fits = prediction.peak_memory <= scenario.device.memory;
  result.memory_high = fits ? std::min(high, scenario.device.memory) : high;
  const double need_scale = portable::hypot(std::sqrt(variance_of(slopes.needed, spread)),
                                            portable::hypot(spread.memory_noise, kCardScatter));
  result.memory_room = portable::log(scenario.device.memory.value / most_needed(prediction));
  result.fits_probability = t4_below(result.memory_room / need_scale);
  result.time_prior = prior_scale(slopes.time, uncertainty);
  result.time_unmeasured = scenario.device.errors.unmeasured;
  result.memory_prior = prior_scale(slopes.printed, uncertainty);
  result.slopes = slopes.time;
  result.sources = largest_sources(slopes.time, spread);
  return result;
}

void state_error(const Interval& interval, Prediction& prediction) {
  if (interval.earned || interval.expected_error() <= prediction.relative_error) return;
  prediction.relative_error = interval.expected_error();
  prediction.error_basis = interval.basis;
}

double better_probability(const UncertainPlan& first, const UncertainPlan& second,
                          const Spread& spread) {
  Deviations apart{};
  for (std::size_t i = 0; i < kUncertain; ++i) apart[i] = first.slopes[i] - second.slopes[i];
  const double scale = portable::hypot(std::sqrt(variance_of(apart, spread)), spread.time_noise);
  return t4_below(portable::log(second.value / first.value) / scale);
}

std::vector<std::size_t> most_promising(const std::vector<Odds>& odds, std::size_t count,
                                        const Unlikeness& unlikeness) {
  std::vector<std::size_t> ranks(odds.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::ranges::stable_sort(ranks, std::greater{}, [&](std::size_t i) { return odds[i].best; });
  const std::size_t named = std::min(ranks.size(), count);
  for (std::size_t place = 0; unlikeness && place < named; ++place) {
    // Counts of draws differ by chance as those of two outcomes of one number of trials do.
    const double most = odds[ranks[place]].best;
    const double chance = 2.0 * std::sqrt(2.0 * most / kDraws);
    const auto how_unlike = [&](std::size_t plan) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < place; ++i) least = std::min(least, unlikeness(ranks[i], plan));
      return least;
    };
    std::size_t chosen = place;
    for (std::size_t i = place + 1; i < ranks.size(); ++i) {
      if (odds[ranks[i]].best < most - chance) break;
      const double more = how_unlike(ranks[i]) - how_unlike(ranks[chosen]);
      if (place == 0 ? ranks[i] < ranks[chosen] : more > 0) chosen = i;
    }
    const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(place);
    std::rotate(first, first + static_cast<std::ptrdiff_t>(chosen - place),
                first + static_cast<std::ptrdiff_t>(chosen - place) + 1);
  }
  ranks.resize(named);
  return ranks;
}

std::vector<Odds> odds(const std::vector<UncertainPlan>& plans, const Spread& spread) {
  const auto lower = spread.root();
  const double own = spread.time_noise * std::numbers::sqrt2 / 2.0;
  std::vector<Odds> result(plans.size());
  std::vector<double> values(plans.size());
  std::vector<int> runs(plans.size());  // draws in which it does
  Normals normal;
  for (int draw = 0; draw < kDraws && !plans.empty(); ++draw) {
    Deviations z{}, u{};
    for (double& one : z) one = normal();
    const double heavy = normal.heavy();
    for (std::size_t i = 0; i < kUncertain; ++i) {
      for (std::size_t j = 0; j <= i; ++j) u[i] += heavy * lower[i][j] * z[j];
    }
    const double memory = std::fmod((draw + 0.5) * std::numbers::phi, 1.0);  // an even spread
    for (std::size_t i = 0; i < plans.size(); ++i) {
      double moved = own * normal() * normal.heavy();
      for (std::size_t k = 0; k < kUncertain; ++k) moved += plans[i].slopes[k] * u[k];
      values[i] = memory < plans[i].fits ? plans[i].value * portable::exp(moved)
                                         : std::numeric_limits<double>::infinity();
    }
    const auto best = std::ranges::min_element(values);
    if (std::isinf(*best)) continue;
    result[static_cast<std::size_t>(best - values.begin())].best += 1.0;  // counted exactly
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (std::isinf(values[i])) continue;
      result[i].expected_loss += values[i] / *best - 1.0;
      ++runs[i];
    }
  }
  for (std::size_t i = 0; i < plans.size(); ++i) {
    result[i].best /= kDraws;
    if (runs[i] > 0) result[i].expected_loss /= runs[i];
  }
  return result;
}

}  // namespace prequel
