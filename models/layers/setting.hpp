#pragma once

/// Everything that the work of one layer on one rank depends on, besides the model and the stack.

#include <compare>
#include <cstdint>

#include "hw/kernels/quantize.hpp"
#include "hw/terms/vocabulary.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// Parts of a layer that are computed again together, or not.
enum class Module : std::uint8_t {
  core_attention,
  mla_up_projection,
  expert_activation,
  norm,
  mlp,
  experts,
  shared_experts,
  qkv_projection,  ///< repeated, as are the next three, with the whole layer, or as JAX names them
  out_projection,
  mlp_in,      ///< with `mlp`, too
  mlp_out,     ///< with `mlp`, too
  other,       ///< repeated with the whole layer alone
  mixer_norm,  ///< gated norms behind a scan
  streams,     ///< sums of residual streams
  operators    ///< of no piece: in a set, shares of all pieces (LayerPiece::operator_share)
};

template <>
inline constexpr std::array<std::string_view, 15> kWordsOf<Module>{
    "core attention", "mla up projection", "expert activation", "norm",   "mlp",     "experts",
    "shared experts", "qkv projection",    "out projection",    "mlp in", "mlp out", "other",
    "mixer norm",     "streams",           "operators"};

/// Returns what JAX keeps of a layer by the name of a policy (MaxText: `remat_policy`; from memory
/// of its layers/decoders.py): results of these are not computed again.
constexpr WordSet<Module> kept_by_name(RecomputeModule policy) {
  using enum Module;
  switch (policy) {
    case RecomputeModule::save_qkv_proj: return {qkv_projection};
    case RecomputeModule::save_out_proj: return {out_projection};
    case RecomputeModule::save_dot_except_mlp: return {qkv_projection, out_projection};
    case RecomputeModule::save_dot_except_mlpwi: return {qkv_projection, out_projection, mlp_out};
    case RecomputeModule::minimal: return {qkv_projection, out_projection, mlp_in, mlp_out};
    case RecomputeModule::minimal_with_context:
      return {qkv_projection, out_projection, mlp_in, mlp_out, core_attention};
    default: return {};
  }
}

/// Returns the modules that a plan's recompute repeats, in each block that it repeats anything of.
/// Selective recompute repeats attention's core unless modules are named.
constexpr WordSet<Module> repeated_modules(Recompute mode, WordSet<RecomputeModule> named = {}) {
  if (mode == Recompute::full) return WordSet<Module>::all();
  WordSet<Module> modules;
  if (mode == Recompute::none) return modules;
  if (named.has(RecomputeModule::blocks)) return WordSet<Module>::all();
  for (const RecomputeModule word : all_of<RecomputeModule>()) {
    if (!is_kept_by_name(word) || !named.has(word)) continue;
    const WordSet<Module> kept = kept_by_name(word);
    for (const Module module : all_of<Module>()) {
      if (module != Module::operators && !kept.has(module)) modules.add(module);
    }
    return modules;
  }
  if (named.empty()) modules.add(Module::core_attention);
  const auto add = [&](RecomputeModule name, Module module) {
    if (named.has(name)) modules.add(module);
  };
  add(RecomputeModule::core_attn, Module::core_attention);
  add(RecomputeModule::mla_up_proj, Module::mla_up_projection);
  add(RecomputeModule::moe_act, Module::expert_activation);
  add(RecomputeModule::layernorm, Module::norm);
  add(RecomputeModule::mlp, Module::mlp);
  add(RecomputeModule::mlp, Module::mlp_in);
  add(RecomputeModule::mlp, Module::mlp_out);
  add(RecomputeModule::moe, Module::experts);
  add(RecomputeModule::moe, Module::expert_activation);
  add(RecomputeModule::shared_experts, Module::shared_experts);
  add(RecomputeModule::gdn_norm_out, Module::mixer_norm);
  add(RecomputeModule::mhc, Module::streams);
  add(RecomputeModule::operators, Module::operators);
  return modules;
}

/// In which share of the blocks.
constexpr double repeated_blocks(Recompute mode, WordSet<RecomputeModule> named) {
  return mode == Recompute::selective && named.has(RecomputeModule::blocks) ? 0.5 : 1.0;
}

/// Which matrices of a layer learn, and what stands for those that do not.
struct Learning {
  Tuning tuning{};
  std::int64_t rank{};  ///< of adapters; 0: there are none
  WordSet<AdapterTarget> targets;
  bool dropout{};        ///< a kernel drops some of what adapters read
  bool wide_adapters{};  ///< adapters are stored wider than activations
  BaseFormat base{};     ///< of frozen matrices
  bool embeddings{};     ///< tables learn, too
  bool last_layers{};    ///< the last layers alone learn, and the ends of the model do not
  bool one_format{};     ///< ranks gather norms with frozen matrices, so that all have one format

  /// Tests whether the model's own matrices and norms learn in layers that are not frozen.
  [[nodiscard]] bool model_learns() const { return tuning == Tuning::full; }
  /// Tests whether all of the model learns, learned positions and the last norm included.
  [[nodiscard]] bool all_learns() const { return model_learns() && !last_layers; }
  [[nodiscard]] bool tables_learn() const { return all_learns() || embeddings; }
  /// Tests whether gradients pass layers before the first that learns, on their way to a table.
  [[nodiscard]] bool passes_frozen_layers() const {
    return !last_layers || embeddings || adapts(AdapterTarget::embedding);
  }
  /// Tests whether the matrix or table has an adapter of its own.
  [[nodiscard]] bool adapts(AdapterTarget target) const {
    const bool itself =
        (target == AdapterTarget::embedding || target == AdapterTarget::head) && embeddings;
    return rank > 0 && targets.has(target) && !itself;
  }

  auto operator<=>(const Learning&) const = default;
};

struct LayerSetting {
  std::int64_t mbs{1};
  std::int64_t seq_len{1};
  std::int64_t tp{1};
  bool sequence_parallel{};
  Precision precision{};  ///< of activations and of all products but those below
  AttentionKind attention{};
  Precision products{precision};  ///< of linear layers inside the blocks
  CastRecipe casts{};             ///< to the format of these, where it has 8 or 4 bits
  std::int64_t cp{1};
  std::int64_t ep{1};
  std::int64_t etp{1};
  ContextComm context_comm{};
  Dispatcher dispatcher{Dispatcher::alltoall};
  Precision to_experts{precision};  ///< of tokens, and gradients, on their way to experts
  bool compiled{true};              ///< pointwise kernels are fused as far as the stack does it
  double imbalance{1.0};            ///< tokens of the busiest rank's experts over the mean
  bool fixed_capacity{};          ///< each expert gets as many tokens as it may, others are dropped
  WordSet<GraphedModule> graphs;  ///< launched at once
  bool fp8_attention{};           ///< attention's core multiplies in fp8
  bool fp8_activation_store{};    ///< inputs of SwiGLU are kept in fp8
  bool gathers_cast{};            ///< weights come from other ranks in the format of products
  bool repeats_expert_activation{};  ///< the experts' activation is recomputed by itself
  std::int64_t saved_input_ranks{
      1};  ///< that share an input which waits for the layer's repetition
  std::int64_t saved_input_layers{1};  ///< that are repeated from one such input
  std::int64_t seen_len{};  ///< tokens that see one another in a packed row; 0: all of a sequence
  Learning learning;

  /// Tokens of a micro batch on one rank.
  [[nodiscard]] std::int64_t tokens() const { return mbs * seq_len / cp; }
  /// Tensor ranks that share what works token by token.
  [[nodiscard]] std::int64_t token_split() const { return sequence_parallel ? tp : 1; }

  auto operator<=>(const LayerSetting&) const = default;
};

}  // namespace prequel
