#include "sim/answer/known_spread.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

/// How far answers may be off beside what files state, and why.
struct Level {
  KnownSpread time, memory;
  CheckedCluster here;  ///< what runs share on this cluster
  bool earned{};        ///< by runs of this stack on this cluster
  std::string basis;
  bool of_site{}, of_release{};  ///< whether what is new about these is not in `time` yet
};

const CheckedCluster* find_cluster(const CheckedStack& stack, const std::string& name) {
  const auto found = std::ranges::find(stack.clusters, name, &CheckedCluster::name);
  return found == stack.clusters.end() ? nullptr : &*found;
}

/// Returns the first of those with the same models that `suits`: of the kind first, then of the
/// other kind.
template <class Of>
const Of* best_of_kind(const std::vector<Of>& each, const RunKind& kind, const auto& suits) {
  const Of* best = nullptr;
  for (const Of& one : each) {
    if (one.kind.experts != kind.experts || !suits(one)) continue;
    if (one.kind == kind) return &one;
    if (best == nullptr) best = &one;
  }
  return best;
}

/// Returns the stack's runs on whatever cluster where they are enough to fix its constants.
const CheckedStack* telling_runs(const Scenario& scenario, const Uncertainty& uncertainty) {
  return best_of_kind(uncertainty.checked, kind_of(scenario), [&](const CheckedStack& stack) {
    return stack.software == scenario.software.name && stack.time.rows >= kTellingRuns;
  });
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
  const CheckedStack* const known =
      best_of_kind(uncertainty.checked, kind_of(scenario), [&](const CheckedStack& stack) {
        const auto& releases = stack.releases;
        return stack.software == software.name && find_cluster(stack, cluster) != nullptr &&
               (software.stands_for.empty() ||
                std::ranges::find(releases, software.stands_for) != releases.end());
      });
  if (known != nullptr) {
    return {known->time, known->memory, *find_cluster(*known, cluster), true,
            fmt::format("constants of {} were checked on {}: {} runs of {} models{}", software.name,
                        cluster, known->time.rows, known->kind.experts ? "expert" : "dense",
                        known->kind.adapters ? " with adapters" : "")};
  }
  // A stack whose runs are known is as sure elsewhere as there, but for what is new.
  const CheckedStack* const of_stack_elsewhere = telling_runs(scenario, uncertainty);
  const bool validated =
      software.validated && !was_checked_on_others(software, scenario.model.has_experts());
  const bool seen = !software.other_framework && (validated || of_stack_elsewhere != nullptr);
  const double level_elsewhere = seen ? levels.other : levels.unseen;
  const std::string& machine = scenario.cluster.stands_for;
  if (seen && machine.empty() && uncertainty.news.site > 0 && of_stack_elsewhere != nullptr) {
    const bool is_other_release = !software.stands_for.empty();
    Level level = unchecked(levels.other, is_other_release ? levels.unknown : 1.0);
    level.time = of_stack_elsewhere->time;
    level.of_site = true;
    level.of_release = is_other_release;
    if (is_other_release) {
      level.basis = fmt::format("constants of {}, the nearest release: none of {} are known",
                                software.name, software.stands_for);
    }
    return level;
  }
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

const KnownFamily* family_of(const Scenario& scenario, const Uncertainty& uncertainty) {
  return best_of_kind(uncertainty.families, kind_of(scenario), [&](const KnownFamily& one) {
    return one.framework == scenario.software.framework;
  });
}

void add_part(std::string what, double sd, std::vector<NewPart>& news) {
  if (sd > 0) news.push_back({std::move(what), sd * sd});
}

/// Returns what no run of the family had, each with its part of the variance.
std::vector<NewPart> what_is_new(const Scenario& scenario, const Uncertainty& uncertainty,
                                 const Level& level) {
  const NewTerms& terms = uncertainty.news;
  std::vector<NewPart> news;
  const bool other_mixers =
      std::ranges::any_of(distinct_kinds(scenario.model), [](const LayerKind& kind) {
        return kind.mixer != Mixer::none && kind.mixer != Mixer::attention;
      });
  if (other_mixers) add_part("mixers whose kernels few runs tell of", terms.mixers, news);
  const KnownFamily* const family = family_of(scenario, uncertainty);
  const bool tells = family != nullptr && (level.earned || level.of_site);
  const bool new_cell =
      tells && !std::ranges::binary_search(family->cells, cell_of(scenario.model, scenario.device));
  std::ranges::move(
      news_of(scenario, uncertainty,
              {.cluster = level.of_site, .release = level.of_release, .cell = new_cell}),
      std::back_inserter(news));
  if (!tells) return news;
  const Plan& plan = scenario.plan;
  const std::int64_t per_node = std::max<std::int64_t>(1, scenario.cluster.devices_per_node);
  const double nodes = static_cast<double>((plan.gpus + per_node - 1) / per_node);
  const auto beyond = [&](const char* axis, double here, double known) {
    if (known <= 0 || here <= known) return;
    add_part(fmt::format("{} {:.0f}, beyond the {:.0f} of its runs", axis, here, known),
             terms.doubling * portable::log2(here / known), news);
  };
  beyond("nodes", nodes, family->nodes);
  beyond("ep", static_cast<double>(plan.ep), family->ep);
  beyond("cp", static_cast<double>(plan.cp), family->cp);
  beyond("sequence", static_cast<double>(plan.seq_len), family->seq_len);
  return news;
}

}  // namespace

std::vector<NewPart> news_of(const Scenario& scenario, const Uncertainty& uncertainty,
                             const NewTraits& traits) {
  const NewTerms& terms = uncertainty.news;
  const KnownFamily* const family = family_of(scenario, uncertainty);
  std::vector<NewPart> news;
  if (traits.cluster) add_part("a cluster that its runs are not of", terms.site, news);
  if (traits.release) add_part("a release that its runs are not of", terms.release, news);
  if (traits.cell && family != nullptr) {
    add_part("a model and card that no run is of", terms.cell * family->cell_sd, news);
  }
  return news;
}

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

namespace {

/// Tests whether an edited path is the field's, or a section that holds it.
bool covers(const std::string& edited, const std::string& field) {
  return field == edited || field.starts_with(edited + ".");
}

/// The constants that edits of files moved; those that no constant speaks for count as `all`.
std::array<bool, kUncertain> edited_constants(const Scenario& scenario) {
  std::array<bool, kUncertain> edited{};
  for (const std::string& path : scenario.edited) {
    bool found = false;
    for (std::size_t i = 0; i < kUncertain; ++i) {
      const bool here = std::ranges::any_of(
          fields_of(scenario, Uncertain(i)),
          [&](const UncertainField& field) { return covers(path, field.path); });
      edited[i] = edited[i] || here;
      found = found || here;
    }
    if (!found) edited[index_of(Uncertain::all)] = true;
  }
  return edited;
}

std::string basis_of_edits(const std::vector<std::string>& edited) {
  return fmt::format("{}{} {} edited, so that no run checked {}", edited.front(),
                     edited.size() > 1 ? fmt::format(" and {} more", edited.size() - 1) : "",
                     edited.size() > 1 ? "were" : "was", edited.size() > 1 ? "them" : "it");
}

}  // namespace

Spread spread_of(const Scenario& scenario, const Uncertainty& uncertainty) {
  const Level level = level_of(scenario, uncertainty);
  const auto& calibration = scenario.software.calibration;
  const auto edited = edited_constants(scenario);
  Spread spread;
  spread.earned = (calibration || level.earned) && scenario.edited.empty();
  spread.basis = !scenario.edited.empty() ? basis_of_edits(scenario.edited)
                 : calibration            ? "constants calibrated by runs"
                                          : level.basis;
  spread.time_noise = calibration ? calibration->time_noise : level.time.noise;
  spread.memory_noise = level.memory.noise;
  spread.scatter = uncertainty.scatter;
  Deviations deviation{};
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const auto stated = stated_deviation(scenario, uncertainty, Uncertain(i));
    const double share = i < kUncertainOfTime ? level.time.level : level.memory.level;
    deviation[i] = stated.value_or(share * uncertainty.constants[i].sd);
    if (edited[i] && !stated) {  // an edit that says how sure it is is believed
      deviation[i] = std::max(deviation[i], uncertainty.constants[i].sd);
    }
    spread.covariance[i][i] = deviation[i] * deviation[i];
  }
  const auto correlate = [&](Uncertain first, Uncertain second, double value) {
    const double covariance = value * deviation[index_of(first)] * deviation[index_of(second)];
    spread.covariance[index_of(first)][index_of(second)] = covariance;
    spread.covariance[index_of(second)][index_of(first)] = covariance;
  };
  double& all = spread.covariance[index_of(Uncertain::all)][index_of(Uncertain::all)];
  double& peak = spread.covariance[index_of(Uncertain::peak)][index_of(Uncertain::peak)];
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
    spread.news = what_is_new(scenario, uncertainty, level);
    for (const NewPart& part : spread.news) all += part.variance;
    // Runs of the stack on this cluster would have shown what the card sustains.
    const double sustained = level.earned ? 0.0 : scenario.device.sustained_error;
    all += sustained * sustained;
    for (const Correlation& one : uncertainty.correlations) {
      correlate(one.first, one.second, one.value);
    }
  }
  return spread;
}

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

}  // namespace prequel
