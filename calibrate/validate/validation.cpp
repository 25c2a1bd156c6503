#include "calibrate/validate/validation.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/validate/run_inputs.hpp"
#include "calibrate/validate/run_words.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/parallel.hpp"
#include "sim/answer/odds.hpp"
#include "sim/step/plan_memory.hpp"

namespace prequel {
namespace {

/// A plan whose batch is not said can still be known not to fit: its states alone do not.
bool states_alone_exceed(const ResolvedScenario& sized) {
  const Scenario& scenario = sized.scenario;
  const auto dealt = chunks_of_plan(scenario.model, scenario.plan, scenario.software);
  const StageMemory memory = stage_memory(weights_of(scenario), scenario.model, scenario.plan,
                                          scenario.software, {dealt.front()}, 0);
  return memory.weights + memory.gradients + memory.optimizer > scenario.device.memory;
}

constexpr std::array<std::pair<std::int64_t, const char*>, 5> kScales{
    {{8, "up to 8"},
     {64, "9 to 64"},
     {256, "65 to 256"},
     {1024, "257 to 1024"},
     {std::numeric_limits<std::int64_t>::max(), "over 1024"}}};

/// The derived columns, as cells; what a scenario says before what other cells do.
void derive(MeasuredRun& run, const Scenario* scenario) {
  run.cells["file"] = std::filesystem::path(run.file).stem().string();
  const bool experts =
      scenario != nullptr ? scenario->model.has_experts() : run.cells.contains("experts");
  run.cells["kind"] = experts ? "experts" : "dense";
  run.cells["card"] = scenario != nullptr ? scenario->device.name : "not predicted";
  const auto gpus = scenario != nullptr ? std::optional(scenario->plan.gpus) : run.gpus;
  if (gpus) {
    run.cells["scale"] =
        std::ranges::find_if(kScales, [&](const auto& one) { return *gpus <= one.first; })->second;
  }
}

ValidatedRun validate_run(RunInputs& inputs, const Uncertainty& uncertainty, MeasuredRun run) {
  ValidatedRun result;
  result.run = std::move(run);
  const MeasuredRun& row = result.run;
  derive(result.run, nullptr);
  if (!row.contradiction.empty()) {
    result.outcome = Outcome::invalid;
    result.reason = row.contradiction;
    return result;
  }
  MemoryStack stack;
  try {
    if (!row.plan.gbs) {
      MeasuredRun sized = row;
      sized.plan.mbs = 1;
      sized.plan.gbs = row.plan.dp.value_or(1);
      if (row.status != RunStatus::oom || !states_alone_exceed(inputs.scenario(sized))) {
        throw InputError("gbs: empty, and no default");
      }
      result.outcome = Outcome::predicted;
      result.fits = false;
      return result;
    }
    ResolvedScenario scenario = inputs.scenario(row);
    derive(result.run, &scenario.scenario);
    const Software& software = scenario.scenario.software;
    result.stack = software.name;
    if (!software.stands_for.empty()) result.stand_in = software.name;
    result.other_framework = software.other_framework;
    const Cluster& cluster = scenario.scenario.cluster;
    const Plan& plan = scenario.scenario.plan;
    result.framework = software.framework;
    result.cell = cell_of(scenario.scenario.model, scenario.scenario.device);
    result.kind = kind_of(scenario.scenario);
    result.traits = traits_of(scenario.scenario.plan);
    result.reach = {
        std::ceil(static_cast<double>(plan.gpus) /
                  static_cast<double>(std::max<std::int64_t>(1, cluster.devices_per_node))),
        static_cast<double>(plan.ep), static_cast<double>(plan.cp),
        static_cast<double>(plan.seq_len)};
    if (!cluster.stands_for.empty()) result.machine = cluster.name;
    result.prediction = predict(scenario.scenario);
    stack = software.memory;
    stack.prints = row.memory_kind.value_or(stack.prints);
    result.interval = interval(scenario.scenario, *result.prediction, uncertainty);
    state_verdict(*result.interval, *result.prediction);
    result.spread = std::make_shared<const Spread>(spread_of(scenario.scenario, uncertainty));
    result.unheeded = inputs.unheeded(row, scenario.scenario);
    std::vector<std::string>& warnings = result.prediction->warnings;
    warnings.insert(warnings.begin(), scenario.warnings.begin(), scenario.warnings.end());
    warnings.insert(warnings.end(), result.unheeded.begin(), result.unheeded.end());
  } catch (const InputError& error) {
    result.outcome = Outcome::unsupported;
    result.reason = error.problems().front();
    return result;
  }
  result.outcome = Outcome::predicted;
  result.fits = result.prediction->fits;
  result.printed_memory = is_of_fullest_rank(row.notes)
                              ? memory_of(*result.prediction, stack.prints)
                              : logged_memory(*result.prediction, stack, stack.prints);
  if (row.status == RunStatus::ok) {
    if (row.sec_per_iter) {
      result.time_error = result.prediction->sec_per_iter.value / *row.sec_per_iter - 1;
    }
    if (row.mem_gib) {
      result.memory_error = result.printed_memory.value / kGiB / *row.mem_gib - 1;
    }
  }
  return result;
}

/// Tests whether the row is in errors, verdicts and rankings.
bool is_counted(const ValidatedRun& run) {
  return run.run.apart.empty();
}

/// The baseline that peers' simplest models are: hardware FLOPs over one efficiency, here the
/// median efficiency of all rows.
void add_baseline(std::vector<ValidatedRun>& runs) {
  std::vector<double> ratios;  // measured seconds over seconds at peak
  const auto at_peak = [](const ValidatedRun& run) {
    const Prediction& prediction = *run.prediction;
    return prediction.flops.hardware.value /
           (prediction.peak.value * static_cast<double>(run.run.gpus.value_or(1)));
  };
  for (const ValidatedRun& run : runs) {
    if (is_counted(run) && run.time_error) {
      ratios.push_back(*run.run.sec_per_iter / at_peak(run));
    }
  }
  if (ratios.empty()) return;
  const double typical = quantile(ratios, 0.5);
  for (ValidatedRun& run : runs) {
    if (!run.time_error) continue;
    run.baseline_s = typical * at_peak(run);
    run.baseline_error = *run.baseline_s / *run.run.sec_per_iter - 1;
  }
}

using Rows = std::vector<const ValidatedRun*>;

/// Rows with an error that have the same cells in these columns, by those cells.
std::map<std::string, Rows> alike_in(const Rows& runs, std::initializer_list<const char*> columns) {
  std::map<std::string, Rows> sets;
  for (const ValidatedRun* run : runs) {
    if (!run->time_error || !is_counted(*run)) continue;
    std::string common;
    for (const char* column : columns) common += cell(run->run, column) + "\n";
    sets[common].push_back(run);
  }
  return sets;
}

/// Sets of rows that a team would have chosen from: one source, one table or day, one cluster and
/// size, one model, one batch (within 2 %).
std::vector<Rows> ranking_sets(const Rows& runs) {
  std::map<std::string, Rows> candidates;
  for (const auto& [common, members] :
       alike_in(runs, {"source", "cluster", "gpus", "layers", "hidden", "heads", "seq_len"})) {
    for (const ValidatedRun* run : members) {
      candidates[common + "table " + run->run.table].push_back(run);
      if (!run->run.date.empty()) candidates[common + "date " + run->run.date].push_back(run);
    }
  }
  const auto batch = [](const ValidatedRun* run) { return real(*run->run.plan.gbs); };
  std::vector<Rows> sets;
  for (auto& [key, members] : candidates) {
    std::ranges::stable_sort(members, {}, batch);
    for (auto begin = members.begin(); begin != members.end();) {
      const auto end = std::find_if(begin, members.end(), [&](const ValidatedRun* run) {
        return batch(run) > 1.02 * batch(*begin);
      });
      Rows set(begin, end);
      if (set.size() >= 3 && std::ranges::find(sets, set) == sets.end()) {
        sets.push_back(std::move(set));
      }
      begin = end;
    }
  }
  return sets;
}

/// At least 8 layouts of one model, batch and precision on as many GPUs of one cluster.
std::vector<Rows> layout_sets(const Rows& runs) {
  constexpr std::size_t kFewestLayouts = 8;
  std::vector<Rows> sets;
  for (auto& [key, members] : alike_in(runs, {"file", "model", "layers", "hidden", "cluster",
                                              "software", "gpus", "gbs", "seq_len", "precision"})) {
    if (members.size() >= kFewestLayouts) sets.push_back(members);
  }
  return sets;
}

RankingQuality rank_quality(const std::vector<Rows>& sets) {
  RankingQuality quality;
  for (const auto& set : sets) {
    std::vector<double> predicted, measured;
    for (const ValidatedRun* run : set) {
      predicted.push_back(run->prediction->sec_per_iter.value);
      measured.push_back(*run->run.sec_per_iter);
    }
    quality.sets += 1;
    quality.kendall_tau += kendall_tau(predicted, measured);
    const double regret = top1_regret(predicted, measured);
    quality.top1_regret += regret;
    quality.worst_regret = std::max(quality.worst_regret, regret);
    quality.worst_place = std::max(quality.worst_place, place_of_best(predicted, measured));
  }
  if (quality.sets > 0) {
    quality.kendall_tau /= static_cast<double>(quality.sets);
    quality.top1_regret /= static_cast<double>(quality.sets);
  }
  return quality;
}

/// Probabilities that were said of things, and whether these came true.
using Said = std::vector<std::pair<double, bool>>;

double brier(const Said& said) {
  double sum = 0.0;
  for (const auto& [probability, came] : said) {
    const double miss = probability - (came ? 1.0 : 0.0);
    sum += miss * miss / static_cast<double>(said.size());
  }
  return sum;
}

/// In fifths of what can be said, from `least` on.
std::vector<ReliabilityBin> reliability(const Said& said, double least) {
  constexpr std::size_t kBins = 5;
  std::array<ReliabilityBin, kBins> bins{};
  for (const auto& [probability, came] : said) {
    const double share = (probability - least) / (1.0 - least);
    ReliabilityBin& bin = bins[std::min(kBins - 1, static_cast<std::size_t>(share * kBins))];
    bin.said += probability;
    bin.came += came ? 1.0 : 0.0;
    ++bin.n;
  }
  std::vector<ReliabilityBin> filled;
  for (ReliabilityBin& bin : bins) {
    if (bin.n == 0) continue;
    bin.said /= static_cast<double>(bin.n);
    bin.came /= static_cast<double>(bin.n);
    filled.push_back(bin);
  }
  return filled;
}

/// As a search judges them: all by the spread of the one that is predicted to be best, the first
/// ones by draws.
LayoutOdds layout_odds(const std::vector<Rows>& sets) {
  constexpr std::size_t kDrawn = 30;
  constexpr std::size_t kTried = 3;
  constexpr double kDayToDay = 0.02;
  LayoutOdds result;
  Said said;
  for (auto set : sets) {
    const auto has_odds = [](const ValidatedRun* run) { return run->interval && run->spread; };
    if (!std::ranges::all_of(set, has_odds)) continue;  // another tool's
    std::ranges::stable_sort(
        set, {}, [](const ValidatedRun* run) { return run->prediction->sec_per_iter.value; });
    std::vector<UncertainPlan> plans;
    for (const ValidatedRun* run : set) {
      plans.push_back(
          {run->prediction->sec_per_iter.value, run->interval->slopes, 1.0, run->traits});
    }
    const Spread& spread = *set.front()->spread;
    const auto seconds = [&](std::size_t i) { return *set[i]->run.sec_per_iter; };
    std::size_t best = 0;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (seconds(i) < seconds(best)) best = i;
      for (std::size_t j = 0; j < i; ++j) {
        const double first = better_probability(plans[j], plans[i], spread);
        const bool was_first = seconds(j) < seconds(i);
        said.emplace_back(std::max(first, 1.0 - first), (first >= 0.5) == was_first);
      }
    }
    plans.resize(std::min(plans.size(), kDrawn));
    const std::vector<Odds> drawn = odds(plans, spread);
    const auto tried = most_promising(drawn, kTried);
    const double stated = drawn.front().expected_loss;
    const double lost = seconds(0) / seconds(best) - 1.0;
    double reached = std::numeric_limits<double>::infinity();
    for (const std::size_t i : tried) reached = std::min(reached, seconds(i));
    const double regret = reached / seconds(best) - 1.0;
    ++result.sets;
    result.tried += std::ranges::find(tried, best) != tried.end();
    result.near += regret <= kDayToDay;
    result.stated_loss += stated / static_cast<double>(sets.size());
    result.loss += lost / static_cast<double>(sets.size());
    result.regret += regret / static_cast<double>(sets.size());
  }
  result.pairs = said.size();
  result.brier = brier(said);
  result.reliability = reliability(said, 0.5);
  return result;
}

ValidationGroup summarise_group(const std::string& group_name, const Rows& runs) {
  ValidationGroup group;
  group.name = group_name;
  std::vector<double> time, baseline, memory, time_distances, memory_distances;
  Said said;
  std::size_t sound = 0, answered = 0;
  for (const ValidatedRun* run : runs) {
    group.runs += 1;
    group.predicted += run->outcome == Outcome::predicted;
    group.unsupported += run->outcome == Outcome::unsupported;
    group.invalid += run->outcome == Outcome::invalid;
    group.apart += !is_counted(*run);
    if (!is_counted(*run)) continue;
    sound += run->outcome != Outcome::invalid;
    answered += run->outcome == Outcome::predicted;
    if (run->time_error) time.push_back(*run->time_error);
    if (run->baseline_error) baseline.push_back(*run->baseline_error);
    if (run->memory_error) memory.push_back(*run->memory_error);
    if (run->interval && run->time_error) {
      const double error = std::log1p(*run->time_error);
      time_distances.push_back(error / run->interval->scale_towards(error));
    }
    if (run->interval && run->memory_error) {
      memory_distances.push_back(std::log1p(*run->memory_error) / run->interval->memory_scale);
    }
    if (run->outcome != Outcome::predicted) continue;
    if (run->run.status == RunStatus::oom) {
      group.fit.oom_measured += 1;
      group.fit.oom_predicted += !run->fits;
    } else if (run->run.status == RunStatus::ok) {
      group.fit.ran += 1;
      group.fit.false_oom += !run->fits;
    }
    if (run->interval && run->run.status != RunStatus::failed) {
      said.emplace_back(run->interval->fits_probability, run->run.status == RunStatus::ok);
    }
  }
  group.fit.odds = said.size();
  group.fit.brier = brier(said);
  group.fit.reliability = reliability(said, 0.0);
  group.time = error_statistics(time);
  group.baseline = error_statistics(baseline);
  group.memory = error_statistics(memory);
  group.time_coverage = coverage(time_distances);
  group.memory_coverage = coverage(memory_distances);
  if (sound > 0) group.usable = static_cast<double>(answered) / static_cast<double>(sound);
  group.ranking = rank_quality(ranking_sets(runs));
  const auto sets = layout_sets(runs);
  group.layouts = rank_quality(sets);
  group.odds = layout_odds(sets);
  return group;
}

}  // namespace

std::vector<ValidatedRun> validate_runs(const Library& library, std::vector<MeasuredRun> runs,
                                        const std::vector<Override>& overrides,
                                        const Progress& progress) {
  return validate_runs(library, std::move(runs), overrides, shipped_uncertainty(library), progress);
}

std::vector<ValidatedRun> validate_runs(const Library& library, std::vector<MeasuredRun> runs,
                                        const std::vector<Override>& overrides,
                                        const Uncertainty& uncertainty, const Progress& progress) {
  std::vector<ValidatedRun> results(runs.size());
  RunInputs inputs(library, overrides);
  inputs.check_overrides(runs);
  const auto validate = [&](std::size_t i) {
    results[i] = validate_run(inputs, uncertainty, std::move(runs[i]));
  };
  parallel_for(runs.size(), validate, progress);
  add_baseline(results);
  return results;
}

std::vector<ValidationGroup> group_runs(const std::vector<ValidatedRun>& runs,
                                        const std::vector<std::string>& columns) {
  std::vector<std::string> order;
  std::map<std::string, Rows> members;
  for (const ValidatedRun& run : runs) {
    std::string key;
    for (const std::string& column : columns) {
      if (!key.empty()) key += ", ";
      key += cell(run.run, column);
    }
    if (columns.empty()) key = "all";
    if (!members.contains(key)) order.push_back(key);
    members[key].push_back(&run);
  }
  if (columns == std::vector<std::string>{"scale"}) {
    const auto place = [](const std::string& scale) {
      return std::ranges::find(kScales, scale, &decltype(kScales)::value_type::second);
    };
    std::ranges::sort(order, {}, place);
  }
  std::vector<ValidationGroup> groups;
  for (const std::string& key : order) {
    groups.push_back(summarise_group(key, members[key]));
    groups.back().by = fmt::format("{}", fmt::join(columns, ","));
  }
  return groups;
}

double kendall_tau(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double score = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    for (std::size_t j = i + 1; j < predicted.size(); ++j) {
      const double product = (predicted[i] - predicted[j]) * (measured[i] - measured[j]);
      score += product > 0 ? 1 : (product < 0 ? -1 : 0);
      pairs += 1;
    }
  }
  return pairs > 0 ? score / pairs : 0;
}

double top1_regret(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const auto best = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  return measured[static_cast<std::size_t>(best)] /
             *std::min_element(measured.begin(), measured.end()) -
         1;
}

std::size_t place_of_best(const std::vector<double>& predicted,
                          const std::vector<double>& measured) {
  const auto best = std::min_element(measured.begin(), measured.end()) - measured.begin();
  const double of_best = predicted[static_cast<std::size_t>(best)];
  return 1 + static_cast<std::size_t>(std::count_if(predicted.begin(), predicted.end(),
                                                    [&](double other) { return other < of_best; }));
}

std::string gap_explanation(const ValidatedRun& run) {
  if (!run.prediction || !run.run.sec_per_iter) return {};
  const Breakdown& parts = run.prediction->breakdown;
  const double gap = *run.run.sec_per_iter - run.prediction->sec_per_iter.value;
  std::vector<std::pair<double, std::string>> changes;
  const auto consider = [&](double part, const char* part_name) {
    const double factor = part > 0 ? (part + gap) / part : 0;
    if (factor > 0 && factor < 5) {
      changes.emplace_back(std::abs(std::log(factor)),
                           fmt::format("{} x{:.2f}", part_name, factor));
    }
  };
  consider(parts.compute + parts.recompute, "kernels");
  consider(parts.tp_comm, "tensor-parallel communication");
  consider(parts.pp_comm, "stage transfers");
  consider(parts.dp_comm, "data-parallel communication");
  consider(parts.bubble, "bubble");
  consider(parts.host, "launches");
  consider(parts.other, "fixed time");
  std::sort(changes.begin(), changes.end());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, changes.size()); ++i) {
    text += (i > 0 ? " or " : "") + changes[i].second;
  }
  return text.empty() ? "no single part explains it" : text;
}

}  // namespace prequel
