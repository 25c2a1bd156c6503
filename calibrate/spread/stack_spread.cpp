#include "calibrate/spread/stack_spread.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "hw/base/student_t.hpp"

namespace prequel {
namespace {

constexpr double kLevelLogSd = 0.6;    ///< of stacks around the common level
constexpr int kRounds = 8;             ///< of finding what stacks have in common
constexpr int kLevels = 28;            ///< of the grid, 0.05 to 20
constexpr int kScatters = 24;          ///< of the grid, 0.005 to 0.5
constexpr double kGuessedCases = 2.0;  ///< for which a guess counts
constexpr double kSharedGuess = 0.03;  ///< sd of what the rows of a cluster share
constexpr double kNothing = 1e-3;      ///< the same where nothing is shared

double grid(int index, int count, double least, double most) {
  return least * std::pow(most / least, index / (count - 1.0));
}

/// The form of a row's error: its value, or that it left what is needed on one side of the card.
enum class MissKind : std::uint8_t { value, ran, ran_out };

/// One error beside the spread that the priors alone would give it.
struct Miss {
  double error{};   ///< ln(predicted / measured); of a verdict, ln of the card over what is needed
  double prior{};   ///< scale by all constants at the priors' full spread
  double device{};  ///< scale by what nobody measured on the device, whatever the stack
  MissKind kind{};

  [[nodiscard]] double scale(const KnownSpread& known) const {
    return std::hypot(known.level * prior, known.noise, device);
  }
};
using Misses = std::map<std::string, std::vector<Miss>>;  ///< of a stack, by cluster

/// Without verdicts.
std::size_t count(const Misses& misses) {
  std::size_t rows = 0;
  for (const auto& [cluster, each] : misses) {
    rows += static_cast<std::size_t>(std::ranges::count(each, MissKind::value, &Miss::kind));
  }
  return rows;
}

struct Row {
  std::string table, software, release, cluster;
  RunKind kind;
  std::optional<Miss> time, memory;
};

std::vector<Row> rows_of(const std::vector<ValidatedRun>& runs) {
  std::vector<Row> rows;
  for (const ValidatedRun& run : runs) {
    const bool counts = run.interval && run.run.apart.empty() && !run.other_framework;
    if (!counts || run.run.status == RunStatus::failed) continue;
    Row row{run.run.cells.at("file"),
            run.stack,
            run.stand_in.empty() ? "" : run.run.software,
            run.run.cluster,
            run.kind,
            {},
            {}};
    if (run.time_error) {
      row.time = Miss{std::log1p(*run.time_error), run.interval->time_prior,
                      run.interval->time_unmeasured};
    }
    const bool ran = run.run.status == RunStatus::ok;
    row.memory = run.memory_error
                     ? Miss{std::log1p(*run.memory_error), run.interval->memory_prior, 0.0}
                     : Miss{run.interval->memory_room, run.interval->memory_prior, kCardScatter,
                            ran ? MissKind::ran : MissKind::ran_out};
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The assumptions about every stack before its rows.
struct Common {
  double level{};
  double shared{};  ///< sd of what the rows of a cluster share
  NoisePrior noise;
};

/// The most probable offset that the rows of one cluster share, its variance, and the logarithm of
/// their evidence with it integrated out (Laplace).
struct Shared {
  double offset{}, variance{}, log_evidence{};

  [[nodiscard]] double square() const { return offset * offset + variance; }
};

/// The logarithm of how probable a row is where its cluster shares `offset`, its slope over that
/// and minus its curvature: as reweighting takes it, of verdicts Fisher's.
struct Term {
  double value{}, slope{}, weight{};
};

Term term(const Miss& miss, double scale, double offset) {
  if (miss.kind == MissKind::value) {
    const double z = (miss.error - offset) / scale;
    const double weight = 5.0 / (4.0 + z * z) / (scale * scale);
    return {log_t4(z) - std::log(scale), weight * (miss.error - offset), weight};
  }
  const double side = miss.kind == MissKind::ran ? 1.0 : -1.0;
  const double z = side * (miss.error + offset) / scale;
  const double chance = std::clamp(t4_below(z), 1e-12, 1.0 - 1e-12);
  const double density = std::exp(log_t4(z)) / scale;
  return {std::log(chance), side * density / chance, density * density / (chance * (1.0 - chance))};
}

Shared shared_of(const std::vector<Miss>& misses, const KnownSpread& known, double sd) {
  constexpr int kSteps = 4;
  Shared shared;
  double precision = 0.0;
  for (int step = 0; step <= kSteps; ++step) {
    precision = 1.0 / (sd * sd);
    double pull = 0.0, value = 0.0;
    for (const Miss& miss : misses) {
      const Term one = term(miss, miss.scale(known), shared.offset);
      precision += one.weight;
      pull += one.weight * shared.offset + one.slope;
      value += one.value;
    }
    const double away = shared.offset / sd;
    shared.log_evidence = value - 0.5 * (away * away + std::log(precision * sd * sd));
    if (step < kSteps) shared.offset = pull / precision;
  }
  shared.variance = 1.0 / precision;
  return shared;
}

/// A stack as its rows show it.
struct Known {
  KnownSpread spread;
  std::map<std::string, Shared> clusters;

  [[nodiscard]] double distance(const Miss& miss, const std::string& cluster) const {
    const auto here = clusters.find(cluster);
    const double shared = here == clusters.end() ? 0.0 : std::sqrt(here->second.square());
    return miss.error / std::hypot(miss.scale(spread), shared);
  }
};

/// The most probable spread of these errors.
Known known_spread(const Misses& misses, const Common& common) {
  Known best{{common.level, typical(common.noise), count(misses)}, {}};
  double most = -1e300;
  for (int i = 0; i < kLevels; ++i) {
    const double level = grid(i, kLevels, 0.05, 20.0);
    const double away = std::log(level / common.level) / kLevelLogSd;
    for (int j = 0; j < kScatters; ++j) {
      const KnownSpread one{level, grid(j, kScatters, 0.005, 0.5), best.spread.rows};
      double score = log_density(common.noise, one.noise) - 0.5 * away * away;
      for (const auto& [cluster, each] : misses) {
        score += shared_of(each, one, common.shared).log_evidence;
      }
      if (score <= most) continue;
      most = score;
      best.spread = one;
    }
  }
  for (const auto& [cluster, each] : misses) {
    best.clusters[cluster] = shared_of(each, best.spread, common.shared);
  }
  return best;
}

using Key = std::pair<std::string, RunKind>;  ///< stack, and of which runs
using Of = std::optional<Miss> Row::*;

bool has_value(const Row& row, Of of) {
  return row.*of && (row.*of)->kind == MissKind::value;
}

Misses misses_of(const std::vector<Row>& rows, const Key& key, Of of,
                 const std::string& but_table = {}) {
  Misses misses;
  for (const Row& row : rows) {
    if (!(row.*of) || Key{row.software, row.kind} != key || row.table == but_table) continue;
    misses[row.cluster].push_back(*(row.*of));
  }
  return misses;
}

std::set<Key> keys_of(const std::vector<Row>& rows) {
  std::set<Key> keys;
  for (const Row& row : rows) keys.emplace(row.software, row.kind);
  return keys;
}

/// Returns what stacks that tell enough have in common. The prior of scatter stays where
/// `finds_noise` is false.
Common common_of(const std::vector<Row>& rows, Of of, Common common, bool finds_noise) {
  const double level_guess = common.level;
  const NoisePart noise_guess = common.noise.front();
  for (int round = 0; round < kRounds; ++round) {
    double levels = std::log(level_guess), level_count = 1.0;
    double squares = kGuessedCases * kSharedGuess * kSharedGuess, clusters = kGuessedCases;
    std::vector<double> noise(static_cast<std::size_t>(kGuessedCases),
                              std::log(noise_guess.median));
    for (const Key& key : keys_of(rows)) {
      const Misses misses = misses_of(rows, key, of);
      if (count(misses) < kTellingRuns) continue;
      const Known known = known_spread(misses, common);
      levels += std::log(known.spread.level);
      level_count += 1.0;
      noise.push_back(std::log(known.spread.noise));
      for (const auto& [cluster, shared] : known.clusters) squares += shared.square();
      clusters += static_cast<double>(known.clusters.size());
    }
    common.level = std::exp(levels / level_count);
    common.shared = std::sqrt(squares / clusters);
    if (!finds_noise) continue;
    double mean = 0.0, variance = 0.0;
    const auto stacks = static_cast<double>(noise.size());
    for (const double one : noise) mean += one / stacks;
    for (const double one : noise) variance += (one - mean) * (one - mean) / stacks;
    common.noise = {{1.0, std::exp(mean), std::max(noise_guess.log_sd, std::sqrt(variance))}};
  }
  return common;
}

using Distances = std::map<std::string, std::vector<double>>;  ///< by table

Coverage of_all(const Distances& distances) {
  std::vector<double> all;
  for (const auto& [table, each] : distances) all.insert(all.end(), each.begin(), each.end());
  return coverage(all);
}

/// The share of rows inside, the lesser of two counts: of all, and with a few of each table, whose
/// rows err alike.
double covered(const Distances& distances) {
  if (distances.empty()) return 1.0;
  double inside = 0.0, rows = 0.0;
  for (const auto& [table, each] : distances) {
    const auto weight = static_cast<double>(std::min(each.size(), kCountedRows));
    inside += weight * coverage(each).inside[1];
    rows += weight;
  }
  return std::min(inside / rows, of_all(distances).inside[1]);
}

/// The distances of rows with what the other tables say of their stack on their cluster; with
/// `other` of all constants' spread where they say nothing, and `unknown` times it where the stack
/// only stands in for the row's release.
class HeldOut {
 public:
  HeldOut(const std::vector<Row>& rows, Of of, const Common& common, double unknown)
      : rows_(rows), of_(of), noise_(typical(common.noise)), unknown_(unknown) {
    for (const Row& row : rows) {
      if (!(row.*of)) continue;
      const Key key{row.software, row.kind};
      auto [known, is_new] = known_.try_emplace({row.table, key});
      if (!is_new) continue;
      const Misses misses = misses_of(rows, key, of, row.table);
      if (count(misses) >= kTellingRuns) known->second = known_spread(misses, common);
    }
  }

  [[nodiscard]] Distances distances(double other) const {
    Distances distances;
    for (const Row& row : rows_) {
      if (!has_value(row, of_)) continue;
      const auto& known = known_.at({row.table, {row.software, row.kind}});
      const bool was_seen = known && known->clusters.contains(row.cluster);
      const Known unchecked{{row.release.empty() ? other : unknown_ * other, noise_, 0}, {}};
      distances[row.table].push_back(
          (was_seen ? *known : unchecked).distance(*(row.*of_), row.cluster));
    }
    return distances;
  }

 private:
  const std::vector<Row>& rows_;
  Of of_;
  double noise_;
  double unknown_;  ///< of a release without a file, over `other`
  std::map<std::pair<std::string, Key>, std::optional<Known>> known_;
};

/// The least level at which rows held out are covered as stated, and their distances.
std::pair<double, Distances> widened(const std::vector<Row>& rows, Of of, const Common& common,
                                     double unknown) {
  const HeldOut held_out(rows, of, common, unknown);
  double level = common.level;
  Distances distances = held_out.distances(level);
  while (level < 10.0 && covered(distances) < kCoverageLevels[1]) {
    level *= 1.05;
    distances = held_out.distances(level);
  }
  return {level, std::move(distances)};
}

/// The families of stacks by their frameworks and kinds: which cells their rows are of, how far
/// they reach, and the spread of what a cell's rows share: the 80 % quantile of their medians'
/// sizes over 1.28, drawn to that of all families by as much as 8 cells weigh.
std::vector<KnownFamily> families_of(const std::vector<ValidatedRun>& runs) {
  constexpr double kPooledCells = 8.0, kQuantile80 = 1.28;
  struct SeenFamily {
    KnownFamily family;
    std::map<std::string, std::vector<double>> errors;  ///< of cells
  };
  std::map<std::pair<std::string, RunKind>, SeenFamily> seen;
  for (const ValidatedRun& run : runs) {
    const bool counts = run.time_error && run.run.apart.empty() && !run.other_framework &&
                        !run.cell.empty() && run.run.status == RunStatus::ok;
    if (!counts) continue;
    SeenFamily& its = seen[{run.framework, run.kind}];
    its.family.framework = run.framework;
    its.family.kind = run.kind;
    its.errors[run.cell].push_back(std::log1p(*run.time_error));
    its.family.nodes = std::max(its.family.nodes, run.reach.nodes);
    its.family.ep = std::max(its.family.ep, run.reach.ep);
    its.family.cp = std::max(its.family.cp, run.reach.cp);
    its.family.seq_len = std::max(its.family.seq_len, run.reach.seq_len);
  }
  const auto quantile = [](std::vector<double> sizes) {
    std::ranges::sort(sizes);
    return sizes[std::min(sizes.size() - 1, sizes.size() * 4 / 5)];
  };
  std::vector<double> all;
  std::map<std::pair<std::string, RunKind>, std::vector<double>> medians;
  for (auto& [key, its] : seen) {
    for (auto& [cell, errors] : its.errors) {
      std::ranges::sort(errors);
      medians[key].push_back(std::abs(errors[errors.size() / 2]));
      all.push_back(medians[key].back());
      its.family.cells.push_back(cell);
    }
  }
  std::vector<KnownFamily> families;
  for (auto& [key, its] : seen) {
    const double n = static_cast<double>(its.family.cells.size());
    const double own = quantile(medians[key]) / kQuantile80, pooled = quantile(all) / kQuantile80;
    its.family.cell_sd =
        std::sqrt((n * own * own + kPooledCells * pooled * pooled) / (n + kPooledCells));
    families.push_back(std::move(its.family));
  }
  return families;
}

}  // namespace

StackSpreadReport stack_spreads(const std::vector<ValidatedRun>& runs,
                                const Uncertainty& uncertainty) {
  const std::vector<Row> rows = rows_of(runs);
  constexpr double kLevelGuess = 0.3;
  const Common of_time =
      common_of(rows, &Row::time, {kLevelGuess, kSharedGuess, uncertainty.time_noise}, false);
  const Common of_memory =
      common_of(rows, &Row::memory, {kLevelGuess, kSharedGuess, {kMemoryNoiseGuess}}, true);
  StackSpreadReport report;
  report.families = families_of(runs);
  report.own = of_time.level;
  report.own_memory = of_memory.level;
  report.cluster = of_time.shared;
  report.cluster_memory = of_memory.shared;
  report.memory_noise = of_memory.noise.front();
  Distances unseen, unseen_memory;
  std::tie(report.other, unseen) = widened(rows, &Row::time, of_time, uncertainty.levels.unknown);
  std::tie(report.other_memory, unseen_memory) =
      widened(rows, &Row::memory, of_memory, uncertainty.levels.unknown);
  // Runs that print no memory tell by their verdicts how far that of an unchecked stack is off.
  const Common of_verdicts{report.other_memory, kNothing, of_memory.noise};
  Distances time, memory;
  for (const Key& key : keys_of(rows)) {
    CheckedStack stack;
    std::tie(stack.software, stack.kind) = key;
    const Known in_time = known_spread(misses_of(rows, key, &Row::time), of_time);
    const Misses of_bytes = misses_of(rows, key, &Row::memory);
    const bool prints = count(of_bytes) > 0;
    const Known in_memory = known_spread(of_bytes, prints ? of_memory : of_verdicts);
    stack.time = in_time.spread;
    stack.memory = in_memory.spread;
    std::set<std::string> clusters, releases;
    for (const Row& row : rows) {
      if (Key{row.software, row.kind} != key) continue;
      clusters.insert(row.cluster);
      if (!row.release.empty()) releases.insert(row.release);
      if (row.time) time[row.table].push_back(in_time.distance(*row.time, row.cluster));
      if (has_value(row, &Row::memory)) {
        memory[row.table].push_back(in_memory.distance(*row.memory, row.cluster));
      }
    }
    const auto shared = [](const Known& known, const std::string& cluster, const Common& common) {
      const auto found = known.clusters.find(cluster);
      if (found != known.clusters.end()) return std::sqrt(found->second.square());
      return known.spread.rows > 0 ? common.shared : 0.0;
    };
    for (const std::string& cluster : clusters) {
      stack.clusters.push_back(
          {cluster, shared(in_time, cluster, of_time), shared(in_memory, cluster, of_memory)});
    }
    stack.releases.assign(releases.begin(), releases.end());
    report.stacks.push_back(std::move(stack));
  }
  for (CheckedStack& stack : report.stacks) {
    if (stack.time.rows == 0) stack.time = {report.other, typical(of_time.noise), 0};
  }
  for (const auto& [table, each] : time) {
    report.tables.push_back({table, coverage(each), coverage(unseen.at(table)),
                             coverage(memory[table]), coverage(unseen_memory[table])});
  }
  report.time = of_all(time);
  report.held_out = of_all(unseen);
  report.memory_held_out = of_all(unseen_memory);
  report.memory = of_all(memory);
  return report;
}

Uncertainty with_stacks(Uncertainty present, const StackSpreadReport& report) {
  present.memory_noise = {report.memory_noise};
  present.levels.own = report.own;
  present.levels.own_memory = report.own_memory;
  present.levels.other = report.other;
  present.levels.other_memory = report.other_memory;
  present.checked = report.stacks;
  present.families = report.families;
  return present;
}

namespace {

/// Returns the value that a run shares with those that are left out with it.
std::string shared_by(const ValidatedRun& run, const std::string& by) {
  if (by == "cluster") return run.run.cluster;
  if (by == "software") return run.run.software.empty() ? run.stack : run.run.software;
  if (by == "card") return run.cell.substr(run.cell.find(' ') + 1);
  return run.run.model_name.empty() ? run.run.table : run.run.model_name;
}

}  // namespace

LeftOutIntervals left_out_intervals(const Library& library, const std::vector<ValidatedRun>& runs,
                                    const Uncertainty& uncertainty, const std::string& by) {
  constexpr double kMissed = 2.0 / (1.0 - kIntervalLevel);
  const double width = t4_half_width(kIntervalLevel);
  std::set<std::string> values;
  for (const ValidatedRun& run : runs) values.insert(shared_by(run, by));
  LeftOutIntervals result;
  std::vector<double> distances, half_widths;
  double scores = 0.0;
  for (const std::string& value : values) {
    std::vector<ValidatedRun> rest;
    std::vector<MeasuredRun> left_out;
    for (const ValidatedRun& run : runs) {
      if (shared_by(run, by) != value) {
        rest.push_back(run);
      } else if (run.time_error && run.run.apart.empty()) {
        left_out.push_back(run.run);
      }
    }
    if (left_out.empty() || rest.empty()) continue;
    ++result.folds;
    const Uncertainty known = with_stacks(uncertainty, stack_spreads(rest, uncertainty));
    for (const ValidatedRun& run : validate_runs(library, std::move(left_out), {}, known, {})) {
      if (!run.interval || !run.time_error) continue;
      const double error = std::log1p(*run.time_error);
      const double scale = run.interval->scale_towards(error);
      distances.push_back(error / scale);
      result.rows.push_back({run.run.id, error, scale, run.interval->basis});
      half_widths.push_back(std::expm1(width * run.interval->time_scale));
      scores += width * (run.interval->time_scale + run.interval->time_scale_below) +
                kMissed * std::max(0.0, std::abs(error) - width * scale);
    }
  }
  result.time = coverage(distances);
  result.half_width = quantile(half_widths, 0.5);
  result.score = distances.empty() ? 0.0 : scores / static_cast<double>(distances.size());
  return result;
}

}  // namespace prequel
