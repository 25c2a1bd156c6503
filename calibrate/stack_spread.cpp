#include "calibrate/stack_spread.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/answer/student_t.hpp"

namespace prequel {
namespace {

constexpr double kLevelLogSd = 0.6;       ///< of stacks around the common level
constexpr int kRounds = 6;                ///< of finding it
constexpr std::size_t kTelling = 10;      ///< rows of a stack that tell of it
constexpr std::size_t kCountedRows = 20;  ///< of a table, at most, in the coverage held out
constexpr int kLevels = 28;               ///< of the grid, 0.05 to 20
constexpr int kScatters = 24;             ///< of the grid, 0.005 to 0.5

double grid(int index, int count, double least, double most) {
  return least * std::pow(most / least, index / (count - 1.0));
}

/// One error beside the spread that the priors alone would give it.
struct Miss {
  double error{};   ///< ln(predicted / measured)
  double prior{};   ///< scale by all constants at the priors' full spread
  double device{};  ///< scale by what nobody measured on the device, whatever the stack

  [[nodiscard]] double scale(double level, double noise) const {
    return std::hypot(level * prior, noise, device);
  }
  [[nodiscard]] double distance(const KnownSpread& known) const {
    return error / scale(known.level, known.noise);
  }
};

struct Row {
  std::string table, software, release, cluster;
  bool experts{};
  std::optional<Miss> time, memory;
};

std::vector<Row> rows_of(const std::vector<ValidatedRun>& runs) {
  std::vector<Row> rows;
  for (const ValidatedRun& run : runs) {
    if (!run.interval || !run.run.apart.empty() || !(run.time_error || run.memory_error)) continue;
    Row row{run.run.cells.at("file"),
            run.stack,
            run.stand_in.empty() ? "" : run.run.software,
            run.run.cluster,
            run.run.cells.at("kind") == "experts",
            {},
            {}};
    if (run.time_error) {
      row.time = Miss{std::log1p(*run.time_error), run.interval->time_prior,
                      run.interval->time_unmeasured};
    }
    if (run.memory_error) {
      row.memory = Miss{std::log1p(*run.memory_error), run.interval->memory_prior, 0.0};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The most probable spread of these errors.
KnownSpread known_spread(const std::vector<Miss>& misses, const NoisePrior& noise, double common) {
  KnownSpread best{common, typical(noise), misses.size()};
  double most = -1e300;
  for (int i = 0; i < kLevels; ++i) {
    const double level = grid(i, kLevels, 0.05, 20.0);
    const double away = std::log(level / common) / kLevelLogSd;
    for (int j = 0; j < kScatters; ++j) {
      const double scatter = grid(j, kScatters, 0.005, 0.5);
      double score = log_density(noise, scatter) - 0.5 * away * away;
      for (const Miss& miss : misses) {
        const double scale = miss.scale(level, scatter);
        score += log_t4(miss.error / scale) - std::log(scale);
      }
      if (score <= most) continue;
      most = score;
      best.level = level;
      best.noise = scatter;
    }
  }
  return best;
}

using Key = std::pair<std::string, bool>;  ///< stack, and whether of experts
using Of = std::optional<Miss> Row::*;

std::vector<Miss> misses_of(const std::vector<Row>& rows, const Key& key, Of of,
                            const std::string& but_table = {}) {
  std::vector<Miss> misses;
  for (const Row& row : rows) {
    if (!(row.*of) || Key{row.software, row.experts} != key || row.table == but_table) continue;
    misses.push_back(*(row.*of));
  }
  return misses;
}

std::set<Key> keys_of(const std::vector<Row>& rows) {
  std::set<Key> keys;
  for (const Row& row : rows) keys.emplace(row.software, row.experts);
  return keys;
}

/// The level around which those of telling stacks lie.
double common_level(const std::vector<Row>& rows, const NoisePrior& noise, double start) {
  double common = start;
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0.0, count = 0.0;
    for (const Key& key : keys_of(rows)) {
      const auto misses = misses_of(rows, key, &Row::time);
      if (misses.size() < kTelling) continue;
      sum += std::log(known_spread(misses, noise, common).level);
      count += 1.0;
    }
    if (count == 0) return start;
    common = std::exp(sum / count);
  }
  return common;
}

using Distances = std::map<std::string, std::vector<double>>;  ///< by table

/// The share of rows inside; rows of one table err alike, so that none counts for more than a few.
double covered(const Distances& distances) {
  if (distances.empty()) return 1.0;
  double inside = 0.0, rows = 0.0;
  for (const auto& [table, each] : distances) {
    const auto weight = static_cast<double>(std::min(each.size(), kCountedRows));
    inside += weight * coverage(each).inside[1];
    rows += weight;
  }
  return inside / rows;
}

/// The distances of a table's rows with what the others say of their stack; `other` where they say
/// nothing.
Distances held_out(const std::vector<Row>& rows, Of of, const NoisePrior& noise, double common,
                   double other) {
  Distances distances;
  std::map<std::pair<std::string, Key>, KnownSpread> found;
  for (const Row& row : rows) {
    if (!(row.*of)) continue;
    const Key key{row.software, row.experts};
    auto [known, is_new] = found.try_emplace({row.table, key});
    if (is_new) {
      const auto misses = misses_of(rows, key, of, row.table);
      known->second = misses.size() >= kTelling ? known_spread(misses, noise, common)
                                                : KnownSpread{other, typical(noise), 0};
    }
    distances[row.table].push_back((row.*of)->distance(known->second));
  }
  return distances;
}

Coverage of_all(const Distances& distances) {
  std::vector<double> all;
  for (const auto& [table, each] : distances) all.insert(all.end(), each.begin(), each.end());
  return coverage(all);
}

}  // namespace

StackSpreadReport stack_spreads(const std::vector<ValidatedRun>& runs,
                                const Uncertainty& uncertainty) {
  const std::vector<Row> rows = rows_of(runs);
  StackSpreadReport report;
  report.own = common_level(rows, uncertainty.time_noise, uncertainty.levels.own);
  Distances time, memory;
  for (const Key& key : keys_of(rows)) {
    CheckedStack stack;
    std::tie(stack.software, stack.experts) = key;
    stack.time = known_spread(misses_of(rows, key, &Row::time), uncertainty.time_noise, report.own);
    stack.memory =
        known_spread(misses_of(rows, key, &Row::memory), uncertainty.memory_noise, report.own);
    std::set<std::string> clusters, releases;
    for (const Row& row : rows) {
      if (Key{row.software, row.experts} != key) continue;
      clusters.insert(row.cluster);
      if (!row.release.empty()) releases.insert(row.release);
      if (row.time) time[row.table].push_back(row.time->distance(stack.time));
      if (row.memory) memory[row.table].push_back(row.memory->distance(stack.memory));
    }
    stack.clusters.assign(clusters.begin(), clusters.end());
    stack.releases.assign(releases.begin(), releases.end());
    report.stacks.push_back(std::move(stack));
  }
  const auto widened = [&](Of of, const NoisePrior& noise) {
    double level = report.own;
    Distances distances = held_out(rows, of, noise, report.own, level);
    while (level < 10.0 && covered(distances) < kCoverageLevels[1]) {
      level *= 1.05;
      distances = held_out(rows, of, noise, report.own, level);
    }
    return std::pair{level, std::move(distances)};
  };
  Distances unseen, unseen_memory;
  std::tie(report.other, unseen) = widened(&Row::time, uncertainty.time_noise);
  std::tie(report.other_memory, unseen_memory) = widened(&Row::memory, uncertainty.memory_noise);
  for (CheckedStack& stack : report.stacks) {
    if (stack.time.rows == 0) stack.time = {report.other, typical(uncertainty.time_noise), 0};
    if (stack.memory.rows == 0) {
      stack.memory = {report.other_memory, typical(uncertainty.memory_noise), 0};
    }
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

}  // namespace prequel
