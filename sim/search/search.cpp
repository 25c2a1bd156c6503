#include "sim/search/search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "hw/base/parallel.hpp"
#include "sim/search/memo.hpp"
#include "sim/step/plan_memory.hpp"

namespace prequel {
namespace {

constexpr std::size_t kBlock = 8;        // plans that one thread takes at a time
constexpr std::size_t kWave = 512;       // plans that are played between looks at the watch
constexpr std::size_t kPrunedWave = 64;  // and between looks at the bounds
constexpr double kRounding = 1e-9;       // of the clock's sums against those of a bound
constexpr std::size_t kMisses = 3;

/// What of a candidate the weights of its layers depend on.
auto weight_key(const Candidate& candidate) {
  return std::tuple(candidate.shape, layer_setting(candidate.plan),
                    repeated_modules(candidate.plan));
}

/// What of a candidate the prices of its layers depend on.
auto layer_key(const SearchInputs& inputs, const Candidate& candidate) {
  return std::tuple(candidate.shape.hidden, candidate.shape.heads,
                    layer_question(candidate.plan, inputs.cluster));
}

double value_of(Objective objective, const Plan& plan, double sec_per_iter) {
  if (objective == Objective::time) return sec_per_iter;
  return sec_per_iter * static_cast<double>(plan.gpus) /
         static_cast<double>(plan.gbs * plan.seq_len);
}

/// Whether the facts meet the requirements that speak of the memory, or those that do not.
bool meets(const SearchLimits& limits, const PlanFacts& facts, bool of_memory) {
  return std::all_of(limits.requirements.begin(), limits.requirements.end(),
                     [&](const Requirement& each) {
                       return each.needs_memory() != of_memory || each.holds(facts);
                     });
}

/// What of a plan the number of micro batches depends on that its stages hold.
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

/// What the memory of a plan says of it.
struct Fit {
  Bytes printed;
  Bytes allocated;  ///< or printed, where a head-room is wanted
  MemoryVerdict verdict{};
  bool required{};
  bool fits{};
};

Fit fit_of(const Scenario& scenario, const PartWeights& weights,
           const std::vector<std::int64_t>& in_flight, const SearchLimits& limits) {
  const PlanMemory memory = plan_memory(scenario, weights, in_flight);
  const bool headroom = limits.memory_headroom > 0;
  Fit fit{memory.peak, headroom ? memory.peak : memory.allocated(), memory.verdict};
  fit.required = meets(limits, {scenario.plan, scenario.model, memory.peak.value / kGiB}, true);
  fit.fits = memory.verdict != MemoryVerdict::oom &&
             fit.allocated <= (1.0 - limits.memory_headroom) * scenario.device.memory;
  return fit;
}

/// Nothing for those that were not looked at because the search was stopped.
std::vector<std::optional<Fit>> fits_of(const std::vector<Candidate>& plans,
                                        const SearchInputs& inputs, const SearchLimits& limits,
                                        const SearchWatch& watch) {
  const Memo<std::vector<std::int64_t>> in_flight(
      plans, passes_key, [&](const Candidate& candidate) {
        return chunks_in_flight(candidate.plan, inputs.software);
      });
  const Memo<PartWeights> weights(plans, weight_key, [&](const Candidate& candidate) {
    return weights_of(scenario_of(inputs, candidate.plan, candidate.shape));
  });
  std::vector<std::optional<Fit>> fits(plans.size());
  for_blocks(0, plans.size(), inputs, [&](std::size_t i, Scenario& scenario) {
    if (is_stopped(watch)) return;
    set_candidate(plans[i], inputs, scenario);
    fits[i] = fit_of(scenario, weights.of(i), in_flight.of(i), limits);
  });
  return fits;
}

/// Plans that fit, to be played.
class Contest {
 public:
  Contest(std::vector<Candidate> plans, std::vector<Fit> fits, const SearchInputs& inputs,
          const SearchLimits& limits)
      : plans_(std::move(plans)),
        fits_(std::move(fits)),
        inputs_(inputs),
        limits_(limits),
        layers_(
            plans_, [&](const Candidate& candidate) { return layer_key(inputs, candidate); },
            [&](const Candidate& candidate) {
              return price_layers(scenario_of(inputs, candidate.plan, candidate.shape));
            }) {}

  /// The best first; `result.interrupted` where the search was stopped before all were played.
  void play(const SearchWatch& watch, SearchResult& result) const {
    const bool all = limits_.best == 0 || limits_.best >= plans_.size();
    const std::vector<double> bounds = all ? std::vector<double>(plans_.size()) : least_values();
    std::vector<std::size_t> order(plans_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return bounds[i]; });

    std::vector<std::pair<std::size_t, FoundPlan>> found;  // with their places in `plans_`
    const std::size_t wave = all ? kWave : kPrunedWave;
    while (found.size() < order.size()) {
      const std::size_t done = found.size();
      if (!all && cannot_win(bounds[order[done]], found)) break;
      if (done > 0 && is_stopped(watch)) {
        result.interrupted = true;
        break;
      }
      found.resize(std::min(done + wave, order.size()));
      for_blocks(done, found.size(), inputs_, [&](std::size_t i, Scenario& scenario) {
        found[i] = {order[i], played(order[i], scenario)};
      });
      if (watch.progress) watch.progress(found.size(), order.size());
    }
    std::ranges::sort(found, {},
                      [](const auto& one) { return std::pair(one.second.value, one.first); });
    if (!all) found.resize(std::min(found.size(), limits_.best));
    for (auto& [place, plan] : found) result.plans.push_back(std::move(plan));
  }

 private:
  [[nodiscard]] FoundPlan played(std::size_t i, Scenario& scenario) const {
    set_candidate(plans_[i], inputs_, scenario);
    const double seconds = iteration_time(scenario, layers_.of(i)).value;
    return {plans_[i].plan,   plans_[i].shape,
            seconds,          value_of(limits_.objective, plans_[i].plan, seconds),
            fits_[i].printed, fits_[i].verdict};
  }

  /// What no plan's value is below.
  [[nodiscard]] std::vector<double> least_values() const {
    std::vector<double> values(plans_.size());
    for_blocks(0, plans_.size(), inputs_, [&](std::size_t i, Scenario& scenario) {
      set_candidate(plans_[i], inputs_, scenario);
      const double seconds = (1 - kRounding) * least_iteration_time(scenario, layers_.of(i)).value;
      values[i] = value_of(limits_.objective, plans_[i].plan, seconds);
    });
    return values;
  }

  /// Whether a plan of this bound is behind as many as are wanted.
  [[nodiscard]] bool cannot_win(double bound,
                                const std::vector<std::pair<std::size_t, FoundPlan>>& found) const {
    const auto better =
        std::ranges::count_if(found, [&](const auto& one) { return one.second.value < bound; });
    return static_cast<std::size_t>(better) >= limits_.best;
  }

  std::vector<Candidate> plans_;
  std::vector<Fit> fits_;
  const SearchInputs& inputs_;
  const SearchLimits& limits_;
  Memo<LayerCosts> layers_;
};

void keep_nearest(std::vector<TooLarge>& misses) {
  std::ranges::stable_sort(misses, {}, &TooLarge::allocated);
  misses.resize(std::min(misses.size(), kMisses));
}

}  // namespace

SearchResult search(const Candidates& candidates, const SearchInputs& inputs,
                    const SearchLimits& limits, const SearchWatch& watch) {
  SearchResult result;
  result.considered = candidates.considered;
  result.legal = std::ssize(candidates.legal);
  result.refused = candidates.nearest;
  std::vector<Candidate> plans;
  Transformer model = inputs.model;
  for (const Candidate& candidate : candidates.legal) {
    if (candidate.shape != shape_of(model)) model = reshaped(inputs.model, candidate.shape);
    if (meets(limits, {candidate.plan, model}, false)) plans.push_back(candidate);
  }
  if (plans.empty()) return result;

  const std::vector<std::optional<Fit>> fits = fits_of(plans, inputs, limits, watch);
  std::vector<Candidate> fitting;
  std::vector<Fit> their_fits;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    result.interrupted |= !fits[i];
    if (!fits[i] || !fits[i]->required) continue;
    ++result.required;
    if (fits[i]->fits) {
      fitting.push_back(plans[i]);
      their_fits.push_back(*fits[i]);
    } else {
      result.nearest_misses.push_back({plans[i].plan, plans[i].shape, fits[i]->allocated});
    }
  }
  result.fitting = std::ssize(fitting);
  if (fitting.empty()) {
    keep_nearest(result.nearest_misses);
    return result;
  }
  result.nearest_misses.clear();
  Contest(std::move(fitting), std::move(their_fits), inputs, limits).play(watch, result);
  return result;
}

Scenario scenario_of(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape) {
  return {reshaped(inputs.model, shape), inputs.device, inputs.cluster, inputs.software, plan};
}

Prediction predict_plan(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape) {
  return predict(scenario_of(inputs, plan, shape));
}

}  // namespace prequel
