#include "models/plan/layer_setting.hpp"

#include <algorithm>
#include <initializer_list>

#include "models/plan/router_balance.hpp"

namespace prequel {
namespace {

/// The recipe by which operands are cast; a plan in fp8 that names none scales each tensor by its
/// own largest element.
CastRecipe cast_recipe(const Plan& plan) {
  if (plan.precision == Precision::fp4) return CastRecipe::nvfp4;
  switch (plan.fp8_recipe) {
    case Fp8Recipe::delayed: return CastRecipe::delayed;
    case Fp8Recipe::block: return CastRecipe::block;
    case Fp8Recipe::mxfp8: return CastRecipe::mxfp8;
    case Fp8Recipe::nvfp4: return CastRecipe::nvfp4;
    case Fp8Recipe::rowwise: return CastRecipe::row;
    case Fp8Recipe::none:
    case Fp8Recipe::current: break;
  }
  return CastRecipe::current;
}

}  // namespace

Precision activation_precision(const Plan& plan) {
  return is_quantized(plan.precision) ? Precision::bf16 : plan.precision;
}

WordSet<Module> repeated_modules(const Plan& plan) {
  return repeated_modules(plan.recompute, plan.recompute_modules);
}

bool repeats_expert_activation(const Plan& plan) {
  const WordSet<Module> modules = repeated_modules(plan);
  return modules.has(Module::expert_activation) && !modules.has(Module::experts);
}

double repeated_blocks(const Plan& plan) {
  if (plan.recompute == Recompute::full) return plan.recomputed;
  return repeated_blocks(plan.recompute, plan.recompute_modules);
}

WordSet<RecomputeModule> modules_of(const Transformer& model, WordSet<RecomputeModule> set) {
  using enum RecomputeModule;
  const auto has = [&](RecomputeModule each) {
    switch (each) {
      case mla_up_proj: return model.is_latent();
      case moe_act:
      case moe: return model.has_experts();
      case shared_experts: return model.experts.shared_hidden > 0;
      case gdn_norm_out: return model.linear_attention.key_heads > 0;
      case mhc: return model.streams > 1;
      default: return true;
    }
  };
  WordSet<RecomputeModule> held;
  for (const RecomputeModule each : all_of<RecomputeModule>()) {
    if (set.has(each) && has(each)) held.add(each);
  }
  return held;
}

Learning learning_of(const Plan& plan) {
  using enum AdapterTarget;
  Learning learning;
  learning.tuning = plan.tuning;
  learning.last_layers = plan.learning_layers > 0;
  learning.embeddings = plan.train_embeddings;
  if (plan.tuning == Tuning::full) return learning;
  learning.base = plan.base_precision;
  learning.one_format = plan.zero >= 3;
  if (plan.tuning == Tuning::none) return learning;
  learning.rank = plan.lora_rank;
  learning.dropout = plan.lora_dropout > 0;
  learning.wide_adapters =
      bytes_per_element(plan.adapter_precision) > bytes_per_element(activation_precision(plan));
  const auto add = [&](std::initializer_list<AdapterTarget> group,
                       std::initializer_list<AdapterTarget> held) {
    const bool named =
        std::ranges::any_of(group, [&](AdapterTarget word) { return plan.lora_targets.has(word); });
    for (const AdapterTarget each : held) {
      if (named || plan.lora_targets.has(each)) learning.targets.add(each);
    }
  };
  add({attention, all}, {q, k, v, o});
  add({mlp, all}, {gate, up, down, experts});
  add({}, {qkv, gate_up, router, embedding, head});
  return learning;
}

std::int64_t updated_layers(const Transformer& model, const Plan& plan) {
  if (!learning_of(plan).model_learns()) return 0;
  return plan.learning_layers > 0 ? std::min(plan.learning_layers, model.layers) : model.layers;
}

LayerSetting layer_setting(const Plan& plan) {
  LayerSetting setting;
  setting.mbs = plan.mbs * plan.sequences_of_sample();
  setting.seq_len = plan.longest_len > 0 ? plan.longest_len : plan.seq_len;
  setting.tp = plan.tp;
  setting.sequence_parallel = plan.sequence_parallel;
  setting.precision = activation_precision(plan);
  setting.attention = plan.attention;
  setting.casts = cast_recipe(plan);
  setting.products = is_quantized(plan.precision) ? format_of(setting.casts) : plan.precision;
  setting.cp = plan.cp;
  setting.ep = plan.ep;
  setting.etp = plan.etp;
  setting.context_comm = plan.cp_comm;
  setting.dispatcher = plan.dispatcher;
  // DeepEP sends 8 bits with a scale for 128 elements.
  setting.to_experts =
      plan.dispatch_precision == Precision::fp8 ? Precision::fp8_block : plan.dispatch_precision;
  setting.compiled = plan.compile;
  setting.imbalance = plan.imbalance;
  setting.fixed_capacity = capacity_factor(plan.router_balance).has_value();
  setting.fp8_attention = plan.fp8_attention;
  setting.fp8_activation_store = plan.fp8_activation_store;
  setting.gathers_cast = plan.fp8_param_gather && plan.fp8_recipe != Fp8Recipe::mxfp8;
  setting.repeats_expert_activation = repeats_expert_activation(plan);
  setting.graphs = plan.cuda_graphs;
  setting.learning = learning_of(plan);
  if (plan.distribute_saved_activations && plan.recompute == Recompute::full) {
    setting.saved_input_ranks = plan.tp;
    setting.saved_input_layers = plan.recompute_layers;
  }
  return setting;
}

LayerContent layer_content(const Plan& plan) {
  return {layer_setting(plan), repeated_modules(plan), repeated_blocks(plan), plan.offload_modules,
          plan.offload_layers};
}

LayerSetting mean_layer_setting(const Plan& plan) {
  LayerSetting setting = layer_setting(plan);
  if (plan.computed_len > 0) setting.seq_len = plan.computed_len;
  if (plan.seen_len < setting.seq_len) setting.seen_len = plan.seen_len;
  return setting;
}

}  // namespace prequel
