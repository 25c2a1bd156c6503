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
#include "models/layers/parameters.hpp"
#include "sim/price/side_by_side.hpp"
#include "sim/search/bounds.hpp"
#include "sim/search/memo.hpp"
#include "sim/search/pareto.hpp"
#include "sim/step/plan_memory.hpp"
#include "sim/step/step.hpp"

namespace prequel {
namespace {

constexpr std::size_t kBlock = 8;           // candidates that one thread takes at a time
constexpr std::size_t kRescuedPlayed = 32;  // at most, of a search that was stopped before
constexpr std::size_t kRescuedWave = 4;     // and between looks at the clock
constexpr std::chrono::milliseconds kRescueTime{100};  // that weighing or playing these takes
constexpr std::size_t kWave = 512;                     // that are played between looks at the watch
constexpr std::size_t kPrunedWave = 64;                // and between looks at the bounds, at most
constexpr double kRounding = 1e-9;  // of the clock's sums against those of a bound
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
  const double per_token = seconds_in_all(limits, plan, sec_per_iter) / tokens_of_step(plan);
  return objective == SearchGoal::days ? per_token : per_token * static_cast<double>(plan.gpus);
}

bool is_in_time(const SearchLimits& limits, const Plan& plan, double sec_per_iter) {
  return tokens_of_step(plan) >= limits.least_rate * seconds_in_all(limits, plan, sec_per_iter);
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

using Places = std::vector<std::size_t>;  ///< of candidates, in rising order unless said otherwise

Places all_places(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

}  // namespace

/// All that is known of the candidates, whatever is asked of them.
class KnownPlans {
 public:
  /// The memory of a plan and the verdict on it.
  struct Weight {
    Bytes printed, needed;
    MemoryVerdict verdict{};
  };

  KnownPlans(const std::vector<Candidate>& candidates, const SearchInputs& asked)
      : plans(candidates), inputs(asked), bounds_(asked) {}

  /// The weight of a candidate; nothing where the search was stopped before.
  [[nodiscard]] const std::optional<Weight>& weight(std::size_t place) const {
    return weights_[place];
  }

  /// Tests whether a candidate that was weighed fits.
  [[nodiscard]] bool fits(std::size_t place, const SearchLimits& limits) const {
    return weight(place)->verdict != MemoryVerdict::oom &&
           needed(place, limits) <= (1.0 - limits.memory_headroom) * inputs.device.memory;
  }
  /// Returns the memory that a candidate needs, or prints where a head-room is wanted.
  [[nodiscard]] Bytes needed(std::size_t place, const SearchLimits& limits) const {
    return limits.memory_headroom > 0 ? weight(place)->printed : weight(place)->needed;
  }

  /// Weighs those that nobody weighed yet.
  void weigh(const Places& wanted, const SearchWatch& watch) {
    weights_.resize(plans.size());
    Places fresh;
    std::ranges::copy_if(wanted, std::back_inserter(fresh),
                         [&](std::size_t place) { return !weights_[place]; });
    if (fresh.empty() || watch.is_stopped()) return;
    const Memo<std::vector<InFlight>> in_flight(
        plans, fresh, passes_key, [&](const Candidate& one) {
          if (watch.is_stopped()) return std::vector<InFlight>();
          return chunks_in_flight(one.plan, inputs.software);
        });
    const Memo<PartWeights> weights(plans, fresh, weight_key, [&](const Candidate& one) {
      return weights_of(scenario_of(inputs, one.plan, one.shape));
    });
    const Memo<StageChunks> chunks(plans, fresh, chunks_key, [&](const Candidate& one) {
      return stage_chunks(scenario_of(inputs, one.plan, one.shape));
    });
    for_blocks(0, fresh.size(), inputs, [&](std::size_t i, Scenario& scenario) {
      if (watch.is_stopped()) return;
      set_candidate(plans[fresh[i]], inputs, scenario);
      const PlanMemory memory = plan_memory(scenario, weights.of(i), chunks.of(i), in_flight.of(i));
      weights_[fresh[i]] = {memory.peak, memory.needed(), memory.verdict};
    });
  }

  /// Prices the layers of candidates where they are not known yet.
  void price(const Places& wanted, const SearchWatch& watch = {}) {
    std::map<std::size_t, std::size_t> fresh;  // row, and an example of it
    for (const std::size_t place : wanted) {
      const std::size_t row = row_of(place);
      if (!prices_.contains(row)) fresh.emplace(row, place);
    }
    const std::vector<std::pair<std::size_t, std::size_t>> rows(fresh.begin(), fresh.end());
    std::vector<std::vector<LayerCosts>> priced(rows.size());
    parallel_for(rows.size(), [&](std::size_t i) {
      if (!watch.is_stopped()) priced[i] = prices_of(plans[rows[i].second]);
    });
    if (watch.is_stopped()) return;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      prices_.emplace(rows[i].first, std::move(priced[i]));
    }
  }

  /// Returns the prices of a candidate's layers, variant by variant; they are known.
  [[nodiscard]] const std::vector<LayerCosts>& prices(std::size_t place) const {
    return prices_.at(rows_[place]);
  }

  /// Finds bounds on the seconds of candidates; once the search is stopped, some stay unknown.
  void bound(const Places& wanted, const SearchWatch& watch) {
    least_seconds_.resize(plans.size(), kUnknown);
    Places fresh;
    std::map<std::size_t, std::size_t> rows;
    for (const std::size_t place : wanted) {
      if (least_seconds_[place] != kUnknown) continue;
      fresh.push_back(place);
      const std::size_t row = row_of(place);
      if (!least_.contains(row)) rows.emplace(row, place);
    }
    const std::vector<std::pair<std::size_t, std::size_t>> examples(rows.begin(), rows.end());
    std::vector<LayerCosts> least(examples.size());
    parallel_for(examples.size(), [&](std::size_t i) {
      if (watch.is_stopped()) return;
      const std::vector<LayerCosts> all = prices_of(plans[examples[i].second]);
      least[i] = all.front();
      for (const LayerCosts& costs : all) least[i] = least_of(least[i], costs);
    });
    if (watch.is_stopped()) return;
    for (std::size_t i = 0; i < examples.size(); ++i) least_.emplace(examples[i].first, least[i]);
    for_blocks(0, fresh.size(), inputs, [&](std::size_t i, Scenario& scenario) {
      if (watch.is_stopped()) return;
      const std::size_t place = fresh[i];
      set_candidate(plans[place], inputs, scenario);
      for (const PlanVariant& variant : variants_of(plans[place])) {
        if (!variant.overlap.has(Overlapped::ep)) continue;
        scenario.plan.overlap.add(Overlapped::ep);
        break;
      }
      least_seconds_[place] = least_time(scenario, least_.at(rows_[place])).value;
    });
  }

  /// Returns a bound that no plan of a candidate is faster than; 0 where none is known.
  [[nodiscard]] double least_seconds(std::size_t place) const {
    return std::max(0.0, least_seconds_[place]);
  }

  [[nodiscard]] Seconds least_time(const Scenario& scenario, const LayerCosts& layers) {
    return bounds_.least_time(scenario, layers);
  }

  const std::vector<Candidate>& plans;
  const SearchInputs& inputs;

 private:
  static constexpr double kUnknown = -1;
  static constexpr auto kNoRow = std::numeric_limits<std::size_t>::max();
  using RowKey = decltype(layer_key(std::declval<SearchInputs>(), std::declval<Candidate>()));

  /// Returns the number of the row that a candidate shares with those whose layers cost the same.
  std::size_t row_of(std::size_t place) {
    rows_.resize(plans.size(), kNoRow);
    if (rows_[place] == kNoRow) {
      rows_[place] =
          known_rows_.emplace(layer_key(inputs, plans[place]), known_rows_.size()).first->second;
    }
    return rows_[place];
  }

  /// Prices of the layers of each variant, for candidates that share them.
  [[nodiscard]] std::vector<LayerCosts> prices_of(const Candidate& candidate) const {
    Scenario scenario = scenario_of(inputs, candidate.plan, candidate.shape);
    std::vector<LayerCosts> costs;
    for (const PlanVariant& variant : variants_of(candidate)) {
      set_variant(scenario.plan, variant);
      costs.push_back(price_layers(scenario));
    }
    return costs;
  }

  std::vector<std::optional<Weight>> weights_;
  std::map<RowKey, std::size_t> known_rows_;
  std::vector<std::size_t> rows_;                          ///< by candidate
  std::map<std::size_t, std::vector<LayerCosts>> prices_;  ///< by row, variant by variant
  std::map<std::size_t, LayerCosts> least_;                ///< by row, of all variants
  std::vector<double> least_seconds_;                      ///< by candidate
  PassBounds bounds_;
};

namespace {

/// Candidates that fit, to be played.
class Contest {
 public:
  Contest(KnownPlans& known, Places fitting, const SearchLimits& limits)
      : known_(known), inputs_(known.inputs), limits_(limits), fitting_(std::move(fitting)) {
    for (const std::size_t place : fitting_) plans_ += known_.plans[place].plans();
  }

  /// The best first; `result.interrupted` where the search was stopped before all were played.
  void play(const SearchWatch& watch, SearchResult& result) {
    const bool all = limits_.best == 0 || limits_.best >= plans_;
    Places order = fitting_;
    std::vector<double> bounds;  // by candidate
    if (!all) {
      bounds = least_values(watch);
      std::ranges::stable_sort(order, {}, [&](std::size_t place) { return bounds[place]; });
    }

    std::size_t played = 0;
    const bool is_rescue = watch.is_stopped();
    const auto end = std::chrono::steady_clock::now() + kRescueTime;
    std::size_t size = is_rescue ? kRescuedWave : all ? kWave : 1;
    for (std::size_t done = 0; done < order.size();) {
      const bool goes_on = is_rescue && std::chrono::steady_clock::now() < end;
      if (done > 0 && watch.is_stopped() && !goes_on) {
        result.interrupted = true;
        break;
      }
      std::vector<std::size_t> wave;
      for (; done < order.size() && wave.size() < size; ++done) {
        const std::size_t place = order[done];
        if (all || can_win(bounds[place], place)) {
          wave.push_back(place);
        } else if (!limits_.front) {
          done = order.size() - 1;  // bounds rise
        }
      }
      played += play(wave, all);
      if (watch.best && !found_.empty()) watch.best(found_.front().plan.sec_per_iter);
      if (watch.progress) watch.progress(played, plans_);
      if (!is_rescue) size = std::min(2 * size, all ? kWave : kPrunedWave);
    }
    result.ranked = std::min(found_.size(), all ? found_.size() : limits_.best);
    for (Found& found : found_) result.plans.push_back(std::move(found.plan));
  }

  /// How many are ranked before `value`; nothing where the search was stopped.
  std::optional<std::size_t> before(double value, const SearchWatch& watch) {
    const std::vector<double> bounds = least_values(watch);
    Places near;
    std::ranges::copy_if(fitting_, std::back_inserter(near),
                         [&](std::size_t place) { return bounds[place] < value; });
    std::size_t before = 0;
    for (std::size_t done = 0; done < near.size();) {
      if (watch.is_stopped()) return std::nullopt;
      const std::size_t end = std::min(done + kWave, near.size());
      const Places wave(near.begin() + static_cast<std::ptrdiff_t>(done),
                        near.begin() + static_cast<std::ptrdiff_t>(end));
      known_.price(wave);
      std::vector<std::size_t> counts(wave.size());
      for_blocks(0, wave.size(), inputs_, [&](std::size_t i, Scenario& scenario) {
        each_variant(wave[i], scenario, [&](std::size_t, const LayerCosts& layers) {
          const Plan& plan = scenario.plan;
          if (value_at(plan, known_.least_time(scenario, layers).value) >= value) return;
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

  /// Returns bounds that no plan of a candidate is ranked below, by candidate.
  [[nodiscard]] std::vector<double> least_values(const SearchWatch& watch) {
    known_.bound(fitting_, watch);
    std::vector<double> values(known_.plans.size());
    for (const std::size_t place : fitting_) {
      values[place] = value_at(known_.plans[place].plan, known_.least_seconds(place));
    }
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
      return better(one) && one.plan.peak_memory <= known_.weight(candidate)->printed &&
             one.plan.plan.nodes <= known_.plans[candidate].plan.nodes;
    });
  }

  /// Calls `body` for each variant of a candidate whose layers are priced, as the scenario's plan.
  template <class Body>
  void each_variant(std::size_t candidate, Scenario& scenario, const Body& body) const {
    set_candidate(known_.plans[candidate], inputs_, scenario);
    const std::vector<PlanVariant> variants = variants_of(known_.plans[candidate]);
    const std::vector<LayerCosts>& layers = known_.prices(candidate);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      set_variant(scenario.plan, variants[v]);
      body(v, layers[v]);
    }
  }

  /// Plays those of the wave that can win yet, and says how many these are.
  std::size_t play(const std::vector<std::size_t>& wave, bool all) {
    known_.price(wave);
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
    return can_win(value_at(plan, known_.least_time(scenario, layers).value), candidate) &&
           can_win(value_at(plan, least_iteration_time(scenario, layers).value), candidate);
  }

  [[nodiscard]] FoundPlan found_plan(const Scenario& scenario, const LayerCosts& layers,
                                     std::size_t i) const {
    const double seconds = iteration_time(scenario, layers).value;
    const KnownPlans::Weight& weight = *known_.weight(i);
    return {scenario.plan,  known_.plans[i].shape,
            seconds,        value_of(limits_, scenario.plan, seconds),
            weight.printed, weight.verdict};
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

  KnownPlans& known_;
  const SearchInputs& inputs_;
  const SearchLimits& limits_;
  Places fitting_;
  std::size_t plans_{};
  std::vector<Found> found_;
};

/// Returns those that meet the requirements that do not speak of memory.
Places meeting(const KnownPlans& known, const SearchLimits& limits) {
  Places places = all_places(known.plans.size());
  if (limits.requirements.empty()) return places;
  Transformer model = known.inputs.model;
  std::erase_if(places, [&](std::size_t place) {
    const Candidate& candidate = known.plans[place];
    if (candidate.shape != shape_of(model)) model = reshaped(known.inputs.model, candidate.shape);
    return !meets(limits, {candidate.plan, model}, false);
  });
  return places;
}

/// Tests whether a candidate that was weighed meets the requirements that speak of memory.
bool meets_of_memory(const KnownPlans& known, std::size_t place, const SearchLimits& limits) {
  if (limits.requirements.empty()) return true;
  const Candidate& candidate = known.plans[place];
  const Transformer model = reshaped(known.inputs.model, candidate.shape);
  return meets(limits, {candidate.plan, model, known.weight(place)->printed.value / kGiB}, true);
}

void keep_nearest(std::vector<TooLarge>& misses) {
  std::ranges::stable_sort(misses, {}, &TooLarge::needed);
  misses.resize(std::min(misses.size(), kMisses));
}

/// Returns those that fit, and counts in `result` what is left out, and why.
Places fitting_of(KnownPlans& known, const Places& wanted, const SearchLimits& limits,
                  const SearchWatch& watch, SearchResult& result) {
  known.weigh(wanted, watch);
  result.interrupted |= watch.is_stopped();
  Places fitting;
  for (const std::size_t place : wanted) {
    result.interrupted |= !known.weight(place);
    if (!known.weight(place) || !meets_of_memory(known, place, limits)) continue;
    const Candidate& candidate = known.plans[place];
    const auto count = static_cast<std::int64_t>(candidate.plans());
    result.required += count;
    if (known.fits(place, limits)) {
      result.fitting += count;
      fitting.push_back(place);
    } else if (fitting.empty()) {
      result.nearest_misses.push_back(
          {candidate.plan, candidate.shape, known.needed(place, limits)});
      if (result.nearest_misses.size() >= kMostMisses) keep_nearest(result.nearest_misses);
    }
  }
  if (fitting.empty()) {
    keep_nearest(result.nearest_misses);
  } else {
    result.nearest_misses.clear();
  }
  return fitting;
}

/// Where a search was stopped before any candidate was played, so many are weighed at a time, until
/// one fits or the time is over.
constexpr std::size_t kRescued = 16;
constexpr std::size_t kRescues = 256;

/// Returns about the bytes that a plan's weights, states and activations take of a device.
double rough_bytes(const Plan& plan, const Transformer& model, double parameters) {
  constexpr double kWeights = 6, kStates = 12, kActivations = 34, kRecomputed = 0.1;
  const auto shards = real(plan.pp * std::max(plan.tp, plan.ep * plan.etp));
  const double owners = plan.zero > 0 ? real(plan.dp) : 1.0;
  const double tokens = real(plan.mbs * plan.seq_len) / real(plan.tp);
  const double kept = plan.recompute == Recompute::full ? kRecomputed : 1.0;
  return parameters / shards * (kWeights + kStates / owners) +
         kept * kActivations * tokens * real(model.hidden * model.layers);
}

/// Returns candidates that are spread evenly over all, those first that probably fit, as they come,
/// and then the others, the smallest first.
Places spread_over(const KnownPlans& known, const Places& all) {
  const std::size_t count = std::min(kRescued * kRescues, all.size());
  Places few;
  for (std::size_t i = 0; i < count; ++i) few.push_back(all[i * all.size() / count]);
  constexpr double kProbablyFits = 0.7;
  const double room = kProbablyFits * known.inputs.device.memory.value;
  const double parameters = real(total_parameters(known.inputs.model));
  std::ranges::stable_sort(few, {}, [&](std::size_t place) {
    const double bytes = rough_bytes(known.plans[place].plan, known.inputs.model, parameters);
    return bytes < room ? 0.0 : bytes;
  });
  return few;
}

/// Returns a few that fit, of a search that was stopped before it had any.
Places rescued(KnownPlans& known, const Places& wanted, const SearchLimits& limits,
               SearchResult& few) {
  SearchWatch watch;
  watch.until = std::chrono::steady_clock::now() + kRescueTime;
  const Places spread = spread_over(known, wanted);
  Places fitting;
  for (std::size_t begin = 0; begin < spread.size() && fitting.empty(); begin += kRescued) {
    if (begin > 0 && watch.is_stopped()) break;
    const std::size_t behind = std::min(begin + kRescued, spread.size());
    const Places block(spread.begin() + static_cast<std::ptrdiff_t>(begin),
                       spread.begin() + static_cast<std::ptrdiff_t>(behind));
    fitting = fitting_of(known, block, limits, begin == 0 ? SearchWatch{} : watch, few);
  }
  return fitting;
}

/// Leaves as many as are played of a search that was stopped, evenly spread.
void thin_out(Places& fitting) {
  const std::size_t all = fitting.size();
  const std::size_t count = std::min(all, kRescuedPlayed);
  for (std::size_t i = 0; i < count; ++i) fitting[i] = fitting[i * all / count];
  fitting.resize(count);
}

SearchResult search_known(KnownPlans& known, const Candidates& candidates,
                          const SearchLimits& limits, const SearchWatch& watch) {
  SearchResult result;
  result.considered = candidates.considered;
  result.legal = candidates.plans();
  result.refused = candidates.nearest;
  const Places wanted = meeting(known, limits);
  Places fitting = fitting_of(known, wanted, limits, watch, result);
  if (fitting.empty() && watch.is_stopped() && !wanted.empty()) {
    // Somebody who waited long enough to stop it wants the best of a few, not nothing.
    SearchResult few;
    fitting = rescued(known, wanted, limits, few);
    result.required = few.required;
    result.fitting = few.fitting;
    result.nearest_misses = few.nearest_misses;
  }
  if (fitting.empty()) return result;
  if (watch.is_stopped()) {
    result.interrupted = true;
    thin_out(fitting);
  }
  for (const SearchGoal objective : limits.also) {
    SearchLimits one = limits;
    one.objective = objective;
    one.best = 1;
    one.front = false;
    SearchResult best;
    Contest(known, fitting, one).play(watch, best);
    std::ranges::move(best.plans, std::back_inserter(result.also));
  }
  Contest(known, std::move(fitting), limits).play(watch, result);
  return result;
}

/// Tests whether requirements tell the variants of a candidate apart.
bool tells_variants_apart(const SearchLimits& limits) {
  return std::ranges::any_of(limits.requirements, &Requirement::needs_variant);
}

}  // namespace

Searcher::Searcher(const Candidates& candidates, const SearchInputs& inputs)
    : candidates_(candidates), known_(std::make_unique<KnownPlans>(candidates.legal, inputs)) {}
Searcher::~Searcher() = default;

SearchResult Searcher::search(const SearchLimits& limits, const SearchWatch& watch) {
  if (!tells_variants_apart(limits)) return search_known(*known_, candidates_, limits, watch);
  const std::vector<Candidate> apart = plans_apart(candidates_.legal);
  KnownPlans known(apart, known_->inputs);
  return search_known(known, candidates_, limits, watch);
}

SearchResult search(const Candidates& candidates, const SearchInputs& inputs,
                    const SearchLimits& limits, const SearchWatch& watch) {
  return Searcher(candidates, inputs).search(limits, watch);
}

std::optional<std::size_t> plans_before(double value, const Candidates& candidates,
                                        const SearchInputs& inputs, const SearchLimits& limits,
                                        const SearchWatch& watch) {
  const bool is_apart = tells_variants_apart(limits);
  const std::vector<Candidate> apart =
      is_apart ? plans_apart(candidates.legal) : std::vector<Candidate>();
  KnownPlans known(is_apart ? apart : candidates.legal, inputs);
  SearchResult found;
  Places fitting = fitting_of(known, meeting(known, limits), limits, watch, found);
  if (found.interrupted) return std::nullopt;
  if (fitting.empty()) return 0;
  return Contest(known, std::move(fitting), limits).before(value, watch);
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
  const Places all = all_places(legal.size());
  KnownPlans known(legal, inputs);
  known.weigh(all, watch);
  known.price(all, watch);
  const Memo<StepFlops> flops(
      legal, all,
      [](const Candidate& one) {
        const Plan& plan = one.plan;
        return std::tuple(plan.gbs, plan.seq_len, plan.tp, plan.recompute, plan.attention,
                          repeated_blocks(plan));
      },
      [&](const Candidate& one) {
        return step_flops(scenario_of(inputs, one.plan, one.shape), FlopsConvention::prequel);
      });
  for_blocks(0, legal.size(), inputs, [&](std::size_t i, Scenario& scenario) {
    if (watch.is_stopped()) return;
    scenario.plan = legal[i].plan;
    const double seconds = iteration_time(scenario, known.prices(i).front()).value;
    EvaluatedPlan& its = plans[places[i]];
    const KnownPlans::Weight& weight = *known.weight(i);
    its.found = {scenario.plan, shape, seconds, seconds, weight.printed, weight.verdict};
    its.mfu = flops.of(i).model.value / (seconds * real(scenario.plan.gpus)) /
              inputs.device.peak(scenario.plan.precision).value;
  });
  if (watch.is_stopped()) throw Interrupted();
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
