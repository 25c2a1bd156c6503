#include "sim/search/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "hw/base/interrupted.hpp"
#include "hw/base/parallel.hpp"
#include "sim/price/side_by_side.hpp"
#include "sim/search/bounds.hpp"
#include "sim/search/memo.hpp"
#include "sim/search/pareto.hpp"
#include "sim/step/plan_memory.hpp"

namespace prequel {
namespace {

constexpr std::size_t kBlock = 8;           // candidates that one thread takes at a time
constexpr std::size_t kRescuedPlayed = 32;  // at most, of a search that was stopped before
constexpr std::size_t kWave = 512;          // that are played between looks at the watch
constexpr std::size_t kPrunedWave = 64;     // and between looks at the bounds, at most
constexpr double kRounding = 1e-9;          // of the clock's sums against those of a bound
constexpr std::size_t kMisses = 3;
constexpr std::size_t kMostMisses = 4096;  // before they are thinned: there may be millions

/// Returns the facts of a candidate that the weights of its layers depend on.
auto weight_key(const Candidate& candidate) {
  return std::tuple(candidate.shape, layer_content(candidate.plan));
}

/// Returns the facts of a candidate that the chunks of its stages depend on.
auto chunks_key(const Candidate& candidate) {
  const Plan& plan = candidate.plan;
  return std::tuple(plan.pp, plan.vpp, plan.schedule, plan.stage_split, candidate.shape,
                    std::string_view(plan.layout));
}

/// Returns the facts of a candidate that the prices of its layers depend on, for all of its
/// variants together.
auto layer_key(const SearchInputs& inputs, const Candidate& candidate) {
  return std::tuple(candidate.shape.hidden, candidate.shape.heads,
                    layer_question(candidate.plan, inputs.cluster), candidate.variants.get());
}

/// Seconds of an iteration and of the time lost around it.
double seconds_in_all(const SearchLimits& limits, const Plan& plan, double sec_per_iter) {
  const auto nodes = static_cast<std::size_t>(plan.nodes);
  return nodes < limits.counted.size() ? sec_per_iter / limits.counted[nodes] : sec_per_iter;
}

double value_of(const SearchLimits& limits, const Plan& plan, double sec_per_iter) {
  const SearchGoal objective = limits.objective;
  if (objective == SearchGoal::time) return sec_per_iter;
  // Seconds tell plans of as many devices apart.
  if (objective == SearchGoal::gpus) {
    return static_cast<double>(plan.gpus) + sec_per_iter / (1 + sec_per_iter);
  }
  const double per_token =
      seconds_in_all(limits, plan, sec_per_iter) / static_cast<double>(plan.gbs * plan.seq_len);
  return objective == SearchGoal::days ? per_token : per_token * static_cast<double>(plan.gpus);
}

bool is_in_time(const SearchLimits& limits, const Plan& plan, double sec_per_iter) {
  return static_cast<double>(plan.gbs * plan.seq_len) >=
         limits.least_rate * seconds_in_all(limits, plan, sec_per_iter);
}

/// Tests whether the facts meet the requirements that speak of the memory, or those that do not.
bool meets(const SearchLimits& limits, const PlanFacts& facts, bool of_memory) {
  return std::all_of(limits.requirements.begin(), limits.requirements.end(),
                     [&](const Requirement& each) {
                       return each.needs_memory() != of_memory || each.holds(facts);
                     });
}

/// Returns the facts of a plan that decide how many micro batches its stages hold.
auto passes_key(const Candidate& candidate) {
  const Plan& plan = candidate.plan;
  return std::tuple(plan.pp, plan.vpp, plan.micro_batches(), plan.zero, plan.schedule,
                    exchanges_beside(plan));
}

bool is_stopped(const SearchWatch& watch) {
  return watch.stop && watch.stop->load(std::memory_order_relaxed);
}

/// Calls `body` for blocks of so many things, each with a scenario for its plans.
template <class Body>
void for_blocks(std::size_t begin, std::size_t end, const SearchInputs& inputs, const Body& body) {
  const std::size_t blocks = (end - begin + kBlock - 1) / kBlock;
  parallel_for(blocks, [&](std::size_t block) {
    Scenario scenario = scenario_of(inputs, {}, shape_of(inputs.model));
    const std::size_t first = begin + block * kBlock;
    for (std::size_t i = first; i < std::min(first + kBlock, end); ++i) body(i, scenario);
  });
}

void set_candidate(const Candidate& candidate, const SearchInputs& inputs, Scenario& scenario) {
  scenario.plan = candidate.plan;
  if (candidate.shape != shape_of(scenario.model)) {
    scenario.model = reshaped(inputs.model, candidate.shape);
  }
}

/// The memory of a plan and the verdict on it.
struct Fit {
  Bytes printed;
  Bytes needed;  ///< or printed, where a head-room is wanted
  MemoryVerdict verdict{};
  bool required{};
  bool fits{};
};

Fit fit_of(const Scenario& scenario, const PartWeights& weights, const StageChunks& chunks,
           const std::vector<InFlight>& in_flight, const SearchLimits& limits) {
  const PlanMemory memory = plan_memory(scenario, weights, chunks, in_flight);
  const bool headroom = limits.memory_headroom > 0;
  Fit fit{memory.peak, headroom ? memory.peak : memory.needed(), memory.verdict};
  fit.required = meets(limits, {scenario.plan, scenario.model, memory.peak.value / kGiB}, true);
  fit.fits = memory.verdict != MemoryVerdict::oom &&
             fit.needed <= (1.0 - limits.memory_headroom) * scenario.device.memory;
  return fit;
}

/// Nothing for those that were not looked at because the search was stopped.
std::vector<std::optional<Fit>> fits_of(const std::vector<Candidate>& plans,
                                        const SearchInputs& inputs, const SearchLimits& limits,
                                        const SearchWatch& watch) {
  if (is_stopped(watch)) return std::vector<std::optional<Fit>>(plans.size());
  const Memo<std::vector<InFlight>> in_flight(plans, passes_key, [&](const Candidate& candidate) {
    if (is_stopped(watch)) return std::vector<InFlight>();
    return chunks_in_flight(candidate.plan, inputs.software);
  });
  const Memo<PartWeights> weights(plans, weight_key, [&](const Candidate& candidate) {
    return weights_of(scenario_of(inputs, candidate.plan, candidate.shape));
  });
  const Memo<StageChunks> chunks(plans, chunks_key, [&](const Candidate& candidate) {
    return stage_chunks(scenario_of(inputs, candidate.plan, candidate.shape));
  });
  std::vector<std::optional<Fit>> fits(plans.size());
  for_blocks(0, plans.size(), inputs, [&](std::size_t i, Scenario& scenario) {
    if (is_stopped(watch)) return;
    set_candidate(plans[i], inputs, scenario);
    fits[i] = fit_of(scenario, weights.of(i), chunks.of(i), in_flight.of(i), limits);
  });
  return fits;
}

/// Candidates that fit, to be played.
class Contest {
 public:
  Contest(std::vector<Candidate> candidates, std::vector<Fit> fits, const SearchInputs& inputs,
          const SearchLimits& limits)
      : candidates_(std::move(candidates)),
        fits_(std::move(fits)),
        inputs_(inputs),
        limits_(limits),
        rows_(candidates_,
              [&](const Candidate& candidate) { return layer_key(inputs, candidate); }),
        bounds_(inputs) {
    for (const Candidate& candidate : candidates_) plans_ += candidate.plans();
  }

  /// The best first; `result.interrupted` where the search was stopped before all were played.
  void play(const SearchWatch& watch, SearchResult& result) {
    const bool all = limits_.best == 0 || limits_.best >= plans_;
    const std::vector<double> bounds =
        all ? std::vector<double>(candidates_.size()) : least_values(watch);
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return bounds[i]; });

    std::size_t played = 0;
    std::size_t size = all ? kWave : is_stopped(watch) ? kRescuedPlayed : 1;
    for (std::size_t done = 0; done < order.size();) {
      if (done > 0 && is_stopped(watch)) {
        result.interrupted = true;
        break;
      }
      std::vector<std::size_t> wave;
      for (; done < order.size() && wave.size() < size; ++done) {
        const std::size_t i = order[done];
        if (all || can_win(bounds[i], i)) {
          wave.push_back(i);
        } else if (!limits_.front) {
          done = order.size() - 1;  // bounds rise
        }
      }
      played += play(wave, all);
      if (watch.best && !found_.empty()) watch.best(found_.front().plan.sec_per_iter);
      if (watch.progress) watch.progress(played, plans_);
      size = std::min(2 * size, all ? kWave : kPrunedWave);
    }
    result.ranked = std::min(found_.size(), all ? found_.size() : limits_.best);
    for (Found& found : found_) result.plans.push_back(std::move(found.plan));
  }

  /// How many are ranked before `value`; nothing where the search was stopped.
  std::optional<std::size_t> before(double value, const SearchWatch& watch) {
    const std::vector<double> bounds = least_values(watch);
    std::vector<std::size_t> near;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (bounds[i] < value) near.push_back(i);
    }
    std::size_t before = 0;
    for (std::size_t done = 0; done < near.size();) {
      if (is_stopped(watch)) return std::nullopt;
      const std::size_t end = std::min(done + kWave, near.size());
      const std::vector<std::size_t> wave(near.begin() + static_cast<std::ptrdiff_t>(done),
                                          near.begin() + static_cast<std::ptrdiff_t>(end));
      price_rows(wave);
      std::vector<std::size_t> counts(wave.size());
      for_blocks(0, wave.size(), inputs_, [&](std::size_t i, Scenario& scenario) {
        each_variant(wave[i], scenario, [&](std::size_t, const LayerCosts& layers) {
          const Plan& plan = scenario.plan;
          if (value_at(plan, bounds_.least_time(scenario, layers).value) >= value) return;
          const double seconds = iteration_time(scenario, layers).value;
          const bool counts_here =
              is_in_time(limits_, plan, seconds) && value_of(limits_, plan, seconds) < value;
          counts[i] += counts_here ? 1 : 0;
        });
      });
      before = std::accumulate(counts.begin(), counts.end(), before);
      done = end;
      if (watch.progress) watch.progress(done, near.size());
    }
    return before;
  }

 private:
  struct Found {
    FoundPlan plan;
    std::size_t candidate{}, variant{};  ///< equals keep the order of the axes

    [[nodiscard]] auto place() const { return std::tuple(plan.value, candidate, variant); }
  };

  /// Prices of the layers of each variant, for candidates that share them.
  [[nodiscard]] std::vector<LayerCosts> prices(const Candidate& candidate) const {
    Scenario scenario = scenario_of(inputs_, candidate.plan, candidate.shape);
    std::vector<LayerCosts> costs;
    for (const PlanVariant& variant : variants_of(candidate)) {
      set_variant(scenario.plan, variant);
      costs.push_back(price_layers(scenario));
    }
    return costs;
  }

  /// Returns bounds that no plan of a candidate is ranked below; 0 for all once the search is
  /// stopped.
  [[nodiscard]] std::vector<double> least_values(const SearchWatch& watch) {
    const std::vector<LayerCosts> least =
        rows_.of_each<LayerCosts>(candidates_, [&](const Candidate& candidate) {
          if (is_stopped(watch)) return LayerCosts{};
          const std::vector<LayerCosts> all = prices(candidate);
          LayerCosts lowest = all.front();
          for (const LayerCosts& costs : all) lowest = least_of(lowest, costs);
          return lowest;
        });
    std::vector<double> values(candidates_.size());
    if (is_stopped(watch)) return values;
    for_blocks(0, candidates_.size(), inputs_, [&](std::size_t i, Scenario& scenario) {
      if (is_stopped(watch)) return;
      set_candidate(candidates_[i], inputs_, scenario);
      for (const PlanVariant& variant : variants_of(candidates_[i])) {
        if (!variant.overlap.has(Overlapped::ep)) continue;
        scenario.plan.overlap.add(Overlapped::ep);
        break;
      }
      values[i] = value_at(scenario.plan, bounds_.least_time(scenario, least[rows_.of(i)]).value);
    });
    return values;
  }

  /// Returns the ranked value of a bound in seconds; infinite for a plan that cannot be in time.
  [[nodiscard]] double value_at(const Plan& plan, double seconds) const {
    const double least = (1 - kRounding) * seconds;
    if (!is_in_time(limits_, plan, least)) return std::numeric_limits<double>::infinity();
    return value_of(limits_, plan, least);
  }

  /// Tests whether a plan of this candidate whose value is not below `bound` can be among those
  /// wanted.
  [[nodiscard]] bool can_win(double bound, std::size_t candidate) const {
    if (std::isinf(bound)) return false;
    const auto better = [&](const Found& one) { return one.plan.value < bound; };
    if (static_cast<std::size_t>(std::ranges::count_if(found_, better)) < limits_.best) return true;
    if (!limits_.front) return false;
    return std::ranges::none_of(found_, [&](const Found& one) {
      return better(one) && one.plan.peak_memory <= fits_[candidate].printed &&
             one.plan.plan.nodes <= candidates_[candidate].plan.nodes;
    });
  }

  /// Prices the layers of the wave's candidates where they are not known yet.
  void price_rows(const std::vector<std::size_t>& wave) {
    std::vector<std::size_t> rows;
    for (const std::size_t i : wave) {
      if (!prices_.contains(rows_.of(i))) rows.push_back(i);
    }
    std::ranges::stable_sort(rows, {}, [&](std::size_t i) { return rows_.of(i); });
    const auto alike = [&](std::size_t i, std::size_t j) { return rows_.of(i) == rows_.of(j); };
    rows.erase(std::unique(rows.begin(), rows.end(), alike), rows.end());
    std::vector<std::vector<LayerCosts>> priced(rows.size());
    parallel_for(rows.size(), [&](std::size_t i) { priced[i] = prices(candidates_[rows[i]]); });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      prices_.emplace(rows_.of(rows[i]), std::move(priced[i]));
    }
  }

  /// Calls `body` for each variant of a candidate whose layers are priced, as the scenario's plan.
  template <class Body>
  void each_variant(std::size_t candidate, Scenario& scenario, const Body& body) const {
    set_candidate(candidates_[candidate], inputs_, scenario);
    const std::vector<PlanVariant> variants = variants_of(candidates_[candidate]);
    const std::vector<LayerCosts>& layers = prices_.at(rows_.of(candidate));
    for (std::size_t v = 0; v < variants.size(); ++v) {
      set_variant(scenario.plan, variants[v]);
      body(v, layers[v]);
    }
  }

  /// Plays those of the wave that can win yet, and says how many these are.
  std::size_t play(const std::vector<std::size_t>& wave, bool all) {
    price_rows(wave);
    std::vector<std::vector<Found>> played(wave.size());
    for_blocks(0, wave.size(), inputs_, [&](std::size_t i, Scenario& scenario) {
      each_variant(wave[i], scenario, [&](std::size_t v, const LayerCosts& layers) {
        if (!all && !can_win_yet(scenario, layers, wave[i])) return;
        FoundPlan found = found_plan(scenario, layers, wave[i]);
        if (!is_in_time(limits_, found.plan, found.sec_per_iter)) return;
        played[i].push_back({std::move(found), wave[i], v});
      });
    });
    std::size_t count = 0;
    for (std::vector<Found>& plans : played) {
      count += plans.size();
      std::ranges::move(plans, std::back_inserter(found_));
    }
    std::ranges::sort(found_, {}, &Found::place);
    if (!all) keep_wanted();
    return count;
  }

  /// By one bound after another, each tighter and dearer.
  [[nodiscard]] bool can_win_yet(const Scenario& scenario, const LayerCosts& layers,
                                 std::size_t candidate) {
    const Plan& plan = scenario.plan;
    return can_win(value_at(plan, bounds_.least_time(scenario, layers).value), candidate) &&
           can_win(value_at(plan, least_iteration_time(scenario, layers).value), candidate);
  }

  [[nodiscard]] FoundPlan found_plan(const Scenario& scenario, const LayerCosts& layers,
                                     std::size_t i) const {
    const double seconds = iteration_time(scenario, layers).value;
    return {scenario.plan,    candidates_[i].shape,
            seconds,          value_of(limits_, scenario.plan, seconds),
            fits_[i].printed, fits_[i].verdict};
  }

  /// The best, and where it is wanted the front.
  void keep_wanted() {
    if (found_.size() <= limits_.best) return;
    std::vector<Found> rest;
    if (limits_.front) {
      std::vector<FoundPlan> plans;
      for (const Found& one : found_) plans.push_back(one.plan);
      for (const std::size_t i : pareto_front(plans)) {
        if (i >= limits_.best) rest.push_back(std::move(found_[i]));
      }
    }
    found_.resize(limits_.best);
    std::ranges::move(rest, std::back_inserter(found_));
  }

  std::vector<Candidate> candidates_;
  std::vector<Fit> fits_;
  const SearchInputs& inputs_;
  const SearchLimits& limits_;
  Classes rows_;  ///< of candidates whose layers cost the same
  PassBounds bounds_;
  std::size_t plans_{};
  std::map<std::size_t, std::vector<LayerCosts>> prices_;  ///< by row, variant by variant
  std::vector<Found> found_;
};

/// The legal plans that meet the requirements on them, variants apart where these tell them apart.
std::vector<Candidate> required(const Candidates& candidates, const SearchInputs& inputs,
                                const SearchLimits& limits) {
  const bool apart = std::ranges::any_of(limits.requirements, &Requirement::needs_variant);
  std::vector<Candidate> plans = apart ? plans_apart(candidates.legal) : candidates.legal;
  Transformer model = inputs.model;
  std::erase_if(plans, [&](const Candidate& candidate) {
    if (candidate.shape != shape_of(model)) model = reshaped(inputs.model, candidate.shape);
    return !meets(limits, {candidate.plan, model}, false);
  });
  return plans;
}

void keep_nearest(std::vector<TooLarge>& misses) {
  std::ranges::stable_sort(misses, {}, &TooLarge::needed);
  misses.resize(std::min(misses.size(), kMisses));
}

/// Those that fit, with their fits.
struct Fitting {
  std::vector<Candidate> plans;
  std::vector<Fit> fits;
};

/// Counts in `result` what is left out, and why.
Fitting fitting_plans(const Candidates& candidates, const SearchInputs& inputs,
                      const SearchLimits& limits, const SearchWatch& watch, SearchResult& result) {
  // A copy of millions of plans would cost more than the search itself.
  std::vector<Candidate> meeting;
  if (!limits.requirements.empty()) meeting = required(candidates, inputs, limits);
  const std::vector<Candidate>& plans = limits.requirements.empty() ? candidates.legal : meeting;
  const std::vector<std::optional<Fit>> fits = fits_of(plans, inputs, limits, watch);
  Fitting fitting;
  result.interrupted = is_stopped(watch);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    result.interrupted |= !fits[i];
    if (!fits[i] || !fits[i]->required) continue;
    const auto count = static_cast<std::int64_t>(plans[i].plans());
    result.required += count;
    if (fits[i]->fits) {
      result.fitting += count;
      fitting.plans.push_back(plans[i]);
      fitting.fits.push_back(*fits[i]);
    } else if (fitting.plans.empty()) {
      result.nearest_misses.push_back({plans[i].plan, plans[i].shape, fits[i]->needed});
      if (result.nearest_misses.size() >= kMostMisses) keep_nearest(result.nearest_misses);
    }
  }
  if (fitting.plans.empty()) {
    keep_nearest(result.nearest_misses);
  } else {
    result.nearest_misses.clear();
  }
  return fitting;
}

}  // namespace

namespace {

/// Where a search was stopped before any candidate was played, so many are weighed at a time, until
/// one fits or the time is over.
constexpr std::size_t kRescued = 256;
constexpr std::size_t kRescues = 16;
constexpr std::chrono::milliseconds kRescueTime{150};

/// Returns candidates that are spread evenly over all, others for each rescue.
Candidates spread_over(const Candidates& all, std::size_t rescue) {
  Candidates few;
  few.considered = all.considered;
  const std::size_t count = std::min(kRescued, all.legal.size());
  for (std::size_t i = 0; i < count; ++i) {
    few.legal.push_back(all.legal[(i * kRescues + rescue) * all.legal.size() / (count * kRescues)]);
  }
  return few;
}

/// Leaves as many as are played of a search that was stopped, evenly spread.
void thin_out(Fitting& fitting) {
  const std::size_t all = fitting.plans.size();
  const std::size_t count = std::min(all, kRescuedPlayed);
  for (std::size_t i = 0; i < count; ++i) {
    fitting.plans[i] = fitting.plans[i * all / count];
    fitting.fits[i] = fitting.fits[i * all / count];
  }
  fitting.plans.resize(count);
  fitting.fits.resize(count);
}

}  // namespace

SearchResult search(const Candidates& candidates, const SearchInputs& inputs,
                    const SearchLimits& limits, const SearchWatch& watch) {
  SearchResult result;
  result.considered = candidates.considered;
  result.legal = candidates.plans();
  result.refused = candidates.nearest;
  Fitting fitting = fitting_plans(candidates, inputs, limits, watch, result);
  if (fitting.plans.empty() && is_stopped(watch) && !candidates.legal.empty()) {
    // Somebody who waited long enough to stop it wants the best of a few, not nothing.
    SearchResult few;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t rescue = 0; rescue < kRescues && fitting.plans.empty(); ++rescue) {
      if (std::chrono::steady_clock::now() - begin > kRescueTime) break;
      fitting = fitting_plans(spread_over(candidates, rescue), inputs, limits, {}, few);
    }
    result.required = few.required;
    result.fitting = few.fitting;
    result.nearest_misses = few.nearest_misses;
  }
  if (fitting.plans.empty()) return result;
  if (is_stopped(watch)) thin_out(fitting);
  for (const SearchGoal objective : limits.also) {
    SearchLimits one = limits;
    one.objective = objective;
    one.best = 1;
    one.front = false;
    SearchResult best;
    Contest(fitting.plans, fitting.fits, inputs, one).play(watch, best);
    std::ranges::move(best.plans, std::back_inserter(result.also));
  }
  Contest(std::move(fitting.plans), std::move(fitting.fits), inputs, limits).play(watch, result);
  return result;
}

std::optional<std::size_t> plans_before(double value, const Candidates& candidates,
                                        const SearchInputs& inputs, const SearchLimits& limits,
                                        const SearchWatch& watch) {
  SearchResult found;
  Fitting fitting = fitting_plans(candidates, inputs, limits, watch, found);
  if (found.interrupted) return std::nullopt;
  if (fitting.plans.empty()) return 0;
  return Contest(std::move(fitting.plans), std::move(fitting.fits), inputs, limits)
      .before(value, watch);
}

std::vector<EvaluatedPlan> evaluate(const std::vector<PlanRequest>& requests,
                                    const SearchInputs& inputs, const std::atomic<bool>* stop) {
  std::vector<EvaluatedPlan> plans(requests.size());
  std::vector<PlanJudgement> judged(requests.size());
  parallel_for(requests.size(), [&](std::size_t i) {
    judged[i] = judge_plan(requests[i], inputs.model, inputs.cluster, inputs.software);
  });
  const ModelShape shape = shape_of(inputs.model);
  std::vector<Candidate> legal;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    plans[i].problems = std::move(judged[i].problems);
    if (!plans[i].problems.empty()) continue;
    legal.push_back({std::move(judged[i].plan), shape, {}});
    places.push_back(i);
  }
  if (legal.empty()) return plans;

  const SearchWatch watch{{}, stop, {}};
  const std::vector<std::optional<Fit>> fits = fits_of(legal, inputs, {}, watch);
  const Classes rows(legal, [&](const Candidate& one) { return layer_key(inputs, one); });
  const std::vector<LayerCosts> prices = rows.of_each<LayerCosts>(legal, [&](const Candidate& one) {
    if (is_stopped(watch)) return LayerCosts{};
    return price_layers(scenario_of(inputs, one.plan, one.shape));
  });
  const Memo<StepFlops> flops(
      legal,
      [](const Candidate& one) {
        const Plan& plan = one.plan;
        return std::tuple(plan.gbs, plan.seq_len, plan.tp, plan.recompute, plan.attention,
                          repeated_blocks(plan));
      },
      [&](const Candidate& one) {
        return step_flops(scenario_of(inputs, one.plan, one.shape), FlopsConvention::prequel);
      });
  for_blocks(0, legal.size(), inputs, [&](std::size_t i, Scenario& scenario) {
    if (is_stopped(watch)) return;
    scenario.plan = legal[i].plan;
    const double seconds = iteration_time(scenario, prices[rows.of(i)]).value;
    EvaluatedPlan& its = plans[places[i]];
    its.found = {scenario.plan, shape, seconds, seconds, fits[i]->printed, fits[i]->verdict};
    its.mfu = flops.of(i).model.value / (seconds * real(scenario.plan.gpus)) /
              inputs.device.peak(scenario.plan.precision).value;
  });
  if (is_stopped(watch)) throw Interrupted();
  return plans;
}

Scenario scenario_of(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape) {
  Scenario scenario{inputs, plan};
  scenario.model = reshaped(inputs.model, shape);
  return scenario;
}

Prediction predict_plan(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape) {
  return predict(scenario_of(inputs, plan, shape));
}

}  // namespace prequel
