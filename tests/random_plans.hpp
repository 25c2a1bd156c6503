#pragma once

/// Plans at random, of all that a plan can say, for properties that hold for every one of them.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "models/plan/layout.hpp"
#include "models/plan/plan.hpp"
#include "models/plan/router_balance.hpp"
#include "models/plan/rules.hpp"

namespace prequel {

/// Draws values of axes; the same seed draws the same plans on every machine.
class PlanDice {
 public:
  explicit PlanDice(unsigned seed) : random_(seed) {}

  /// 0 to `count` - 1.
  std::size_t below(std::size_t count) { return random_() % count; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return *(values.begin() + below(values.size()));
  }
  template <Worded Enum>
  Enum any(std::size_t words = kWordsOf<Enum>.size()) {
    return static_cast<Enum>(below(words));
  }
  /// Each of the first words with one chance in three.
  template <Worded Enum>
  WordSet<Enum> some(std::size_t words = kWordsOf<Enum>.size()) {
    WordSet<Enum> set;
    for (std::size_t i = 0; i < words; ++i) {
      if (below(3) == 0) set.add(static_cast<Enum>(i));
    }
    return set;
  }

 private:
  std::mt19937 random_;
};

/// Returns a request drawn for a model, on up to four nodes; not every one is legal.
inline PlanRequest drawn_request(PlanDice& dice, const Transformer& model, const Cluster& cluster) {
  PlanRequest plan;
  plan.nodes = dice.one_of<std::int64_t>({1, 2, 4});
  plan.tp = dice.one_of<std::int64_t>({1, 1, 2, 4, 8});
  plan.pp = dice.one_of<std::int64_t>({1, 1, 2, 4});
  plan.cp = dice.one_of<std::int64_t>({1, 1, 2});
  plan.vpp = *plan.pp > 1 ? dice.one_of<std::int64_t>({1, 1, 2}) : 1;
  plan.dp = std::max<std::int64_t>(
      1, *plan.nodes * cluster.devices_per_node / (*plan.tp * *plan.pp * *plan.cp));
  if (model.has_experts()) {
    plan.ep = dice.one_of<std::int64_t>({1, 2, 4, 8});
    plan.etp = dice.one_of<std::int64_t>({1, 1, 2});
    plan.dispatcher = dice.any<Dispatcher>();
    plan.router_balance =
        dice.one_of<std::string>({"forced", "forced", "dropped", "dropped:1.25", "natural"});
  }
  plan.mbs = dice.one_of<std::int64_t>({1, 2});
  plan.gbs = *plan.dp * *plan.mbs * *plan.pp * dice.one_of<std::int64_t>({1, 2, 4});
  plan.seq_len = dice.one_of<std::int64_t>({2048, 4096});
  plan.zero = dice.one_of<std::int64_t>({0, 1, 1, 2, 3});
  plan.offload = dice.one_of({Offload::none, Offload::none, Offload::none, Offload::optimizer});
  plan.recompute = dice.any<Recompute>();
  plan.recompute_layers = plan.recompute == Recompute::full ? dice.one_of<std::int64_t>({1, 2}) : 1;
  plan.precision = dice.one_of(
      {Precision::bf16, Precision::bf16, Precision::fp16, Precision::fp8, Precision::fp32});
  plan.grad_precision = dice.one_of({Precision::fp32, Precision::bf16});
  plan.attention =
      dice.one_of({AttentionKind::flash, AttentionKind::flash, AttentionKind::unfused});
  plan.sequence_parallel = *plan.tp > 1 && dice.below(4) > 0;
  plan.schedule = *plan.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
  plan.stage_split = StageSplit::blocks;
  plan.cp_comm = dice.any<ContextComm>();
  plan.fp8_recipe = is_quantized(*plan.precision) ? dice.any<Fp8Recipe>() : Fp8Recipe::none;
  // Only tensor cores from Blackwell on read its scales.
  const bool reads_mx = cluster.device.find("b2") != std::string::npos;
  if (plan.fp8_recipe == Fp8Recipe::mxfp8 && !reads_mx) plan.fp8_recipe = Fp8Recipe::block;
  plan.fp8_param_gather = is_quantized(*plan.precision) && dice.below(2) == 0;
  plan.optimizer = dice.one_of({Optimizer::adam, Optimizer::adam, Optimizer::muon});
  plan.moments_precision = dice.one_of({Precision::fp32, Precision::fp32, Precision::bf16});
  plan.optimizer_offload = dice.one_of({0.0, 0.0, 0.0, 0.25, 1.0});
  plan.sharding_group = dice.below(4) == 0 ? ShardingGroup::node : ShardingGroup::all;
  plan.layout = "";
  const std::int64_t chunks = *plan.pp * *plan.vpp;
  if (chunks > 1 && dice.below(3) == 0) {
    const std::vector<std::string> layouts = balanced_layouts(model, chunks);
    if (!layouts.empty()) plan.layout = layouts[dice.below(layouts.size())];
  }
  plan.recompute_modules =
      dice.below(2) == 0 ? dice.some<RecomputeModule>() : WordSet<RecomputeModule>{};
  plan.offload_modules = dice.below(3) == 0 ? dice.some<OffloadModule>() : WordSet<OffloadModule>{};
  constexpr auto kSwitchedOn = static_cast<std::size_t>(Overlapped::no_grads);
  plan.overlap = dice.below(2) == 0 ? dice.some<Overlapped>(kSwitchedOn) : WordSet<Overlapped>{};
  plan.cuda_graphs = dice.below(2) == 0 ? dice.some<GraphedModule>() : WordSet<GraphedModule>{};
  // Every second plan that allows a rare value gets it.
  using enum Overlapped;
  const bool switched =
      plan.overlap->has(grads) || plan.overlap->has(params) || plan.overlap->has(p2p);
  if (switched && *plan.mbs == 2) {
    for (const auto& [word, opposite] :
         {std::pair{grads, no_grads}, std::pair{params, no_params}, std::pair{p2p, no_p2p}}) {
      if (!plan.overlap->has(word)) plan.overlap->add(opposite);
    }
  }
  const bool second = *plan.gbs / (*plan.dp * *plan.mbs * *plan.pp) % 2 == 0;
  const bool keeps = plan.recompute == Recompute::none && plan.offload_modules->empty() &&
                     plan.cuda_graphs->empty() && *plan.pp == 1;
  plan.offload_layers = keeps && second ? 1 : 0;
  const bool whole = plan.recompute == Recompute::full && *plan.recompute_layers == 1;
  plan.recompute_first = whole && second ? 1 : 0;
  plan.fp8_activation_store = model.mlp == Mlp::swiglu && second;
  plan.distribute_saved_activations = plan.recompute == Recompute::full && *plan.tp > 1 &&
                                      !*plan.sequence_parallel && *plan.mbs % 2 == 0;
  return plan;
}

/// Draws until `count` of them are legal.
inline std::vector<Plan> drawn_plans(PlanDice& dice, std::size_t count, const Transformer& model,
                                     const Cluster& cluster, const Software& software) {
  constexpr int kMostTries = 400;  // for each
  std::vector<Plan> plans;
  for (std::size_t tries = 0; plans.size() < count && tries < count * kMostTries; ++tries) {
    PlanJudgement judged =
        judge_plan(drawn_request(dice, model, cluster), model, cluster, software);
    if (judged.problems.empty()) plans.push_back(std::move(judged.plan));
  }
  return plans;
}

}  // namespace prequel
