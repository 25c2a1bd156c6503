#include "sim/search/search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "hw/base/parallel.hpp"

namespace prequel {
namespace {

constexpr std::size_t kBlock = 32;  // plans that one thread takes at a time
constexpr std::size_t kMisses = 3;

/// What of a plan the price of a layer depends on. Groups inside a node cost the same in any job.
auto layer_key(const SearchInputs& inputs, const Candidate& candidate) {
  const Plan& plan = candidate.plan;
  const bool in_node = inputs.cluster.devices_per_node % plan.tp == 0;
  return std::tuple(candidate.shape.hidden, candidate.shape.heads, plan.tp, plan.mbs, plan.seq_len,
                    plan.sequence_parallel, plan.recompute, plan.precision, plan.attention,
                    in_node ? 0 : plan.gpus);
}

/// The layers of all plans, each priced once.
class LayerPrices {
 public:
  LayerPrices(const SearchInputs& inputs, const std::vector<Candidate>& plans) {
    std::map<decltype(layer_key(inputs, plans.front())), std::size_t> known;
    std::vector<const Candidate*> examples;
    for (const Candidate& plan : plans) {
      const auto [place, is_new] = known.emplace(layer_key(inputs, plan), known.size());
      if (is_new) examples.push_back(&plan);
      index_.push_back(place->second);
    }
    prices_.resize(examples.size());
    parallel_for(examples.size(), [&](std::size_t i) {
      prices_[i] = price_layers(scenario_of(inputs, examples[i]->plan, examples[i]->shape));
    });
  }

  [[nodiscard]] const LayerCosts& of(std::size_t plan) const { return prices_[index_[plan]]; }

 private:
  std::vector<std::size_t> index_;  ///< of each plan
  std::vector<LayerCosts> prices_;
};

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

struct Outcome {
  FoundPlan found;
  Bytes allocated;
  bool required{};
  bool fits{};
};

class Evaluator {
 public:
  Evaluator(const std::vector<Candidate>& plans, const SearchInputs& inputs,
            const SearchLimits& limits)
      : plans_(plans), inputs_(inputs), limits_(limits), prices_(inputs, plans) {}

  [[nodiscard]] Outcome evaluate(std::size_t index, Scenario& scenario) const {
    const ModelShape& shape = plans_[index].shape;
    scenario.plan = plans_[index].plan;
    if (shape != shape_of(scenario.model)) scenario.model = reshaped(inputs_.model, shape);
    const Prediction prediction = predict(scenario, prices_.of(index));
    const Plan& plan = scenario.plan;
    Outcome outcome;
    const double seconds = prediction.sec_per_iter.value;
    outcome.found = {plan,
                     shape,
                     seconds,
                     value_of(limits_.objective, plan, seconds),
                     prediction.peak_memory,
                     prediction.verdict};
    const Bytes room = (1.0 - limits_.memory_headroom) * inputs_.device.memory;
    outcome.allocated = limits_.memory_headroom > 0
                            ? prediction.peak_memory
                            : prediction.stages[prediction.fullest_stage].memory.allocated();
    outcome.fits = prediction.verdict != MemoryVerdict::oom && outcome.allocated <= room;
    outcome.required =
        meets(limits_, {plan, scenario.model, prediction.peak_memory.value / kGiB}, true);
    return outcome;
  }

 private:
  const std::vector<Candidate>& plans_;
  const SearchInputs& inputs_;
  const SearchLimits& limits_;
  LayerPrices prices_;
};

void sort_out(const std::vector<std::optional<Outcome>>& outcomes, SearchResult& result) {
  for (const auto& outcome : outcomes) {
    if (!outcome || !outcome->required) continue;
    ++result.required;
    if (outcome->fits) {
      result.plans.push_back(outcome->found);
    } else {
      result.nearest_misses.push_back(
          {outcome->found.plan, outcome->found.shape, outcome->allocated});
    }
  }
  result.fitting = std::ssize(result.plans);
  std::stable_sort(result.plans.begin(), result.plans.end(),
                   [](const FoundPlan& a, const FoundPlan& b) { return a.value < b.value; });
  if (!result.plans.empty()) result.nearest_misses.clear();
  std::stable_sort(result.nearest_misses.begin(), result.nearest_misses.end(),
                   [](const TooLarge& a, const TooLarge& b) { return a.allocated < b.allocated; });
  result.nearest_misses.resize(std::min(result.nearest_misses.size(), kMisses));
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

  const Evaluator evaluator(plans, inputs, limits);
  std::vector<std::optional<Outcome>> outcomes(plans.size());
  std::atomic<std::size_t> done{0};
  parallel_for((plans.size() + kBlock - 1) / kBlock, [&](std::size_t block) {
    if (watch.stop && watch.stop->load(std::memory_order_relaxed)) return;
    const std::size_t begin = block * kBlock;
    const std::size_t end = std::min(begin + kBlock, plans.size());
    Scenario scenario = scenario_of(inputs, plans[begin].plan, plans[begin].shape);
    for (std::size_t i = begin; i < end; ++i) outcomes[i] = evaluator.evaluate(i, scenario);
    const std::size_t so_far = done += end - begin;
    if (watch.progress) watch.progress(so_far, plans.size());
  });
  result.interrupted = done < plans.size();
  sort_out(outcomes, result);
  return result;
}

Scenario scenario_of(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape) {
  return {reshaped(inputs.model, shape), inputs.device, inputs.cluster, inputs.software, plan};
}

Prediction predict_plan(const SearchInputs& inputs, const Plan& plan, const ModelShape& shape) {
  return predict(scenario_of(inputs, plan, shape));
}

}  // namespace prequel
