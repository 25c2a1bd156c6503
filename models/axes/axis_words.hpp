#pragma once

/// Words that the axes of a plan choose between.

#include <cstdint>

#include "hw/base/words.hpp"

namespace prequel {

/// Which activations the backward pass computes again.
enum class Recompute : std::uint8_t { none, selective, full };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Recompute>{"none", "selective", "full"};

/// The states that live in host memory instead of device memory.
enum class Offload : std::uint8_t { none, optimizer, optimizer_params };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Offload>{"none", "optimizer",
                                                                   "optimizer+params"};

/// How attention is computed: separate kernels, a fused mask-scale-softmax, or one flash kernel.
enum class AttentionKind : std::uint8_t { unfused, fused_softmax, flash };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<AttentionKind>{"unfused", "fused-softmax",
                                                                         "flash"};

/// The pieces that count as layers when layers are dealt to stages.
enum class StageSplit : std::uint8_t { blocks, embedding_as_layer };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<StageSplit>{"blocks",
                                                                      "embedding-as-layer"};

/// How ranks of a context-parallel group see each other's keys and values: in a ring of sends, by
/// one gather, with whole sequences for a share of the heads (Ulysses), or both of ring and heads.
enum class ContextComm : std::uint8_t { p2p, all_gather, a2a, a2a_p2p };
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<ContextComm>{"p2p", "all-gather", "a2a",
                                                                       "a2a+p2p"};

/// How tensors are scaled to 8 or 4 bits: by the amax of steps before or of this one, a scale for
/// blocks, for 32 elements (mxfp8), for 16 in 4 bits (nvfp4), or for each row.
enum class Fp8Recipe : std::uint8_t { none, delayed, current, block, mxfp8, nvfp4, rowwise };
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<Fp8Recipe>{
    "none", "delayed", "current", "block", "mxfp8", "nvfp4", "rowwise"};

/// Over whom ZeRO shards: all data-parallel ranks, or those of a node, which others repeat.
enum class ShardingGroup : std::uint8_t { all, node };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ShardingGroup>{"all", "node"};

/// Modules that selective recompute computes again, as Megatron-Core's `--recompute-modules` names
/// them, or as PyTorch's stacks do it (torchtitan's `selective_ac_option`) all operators but
/// attention, reductions and every second product, or the whole of every second block; or all but
/// what JAX keeps by the names of tensors, as MaxText's `remat_policy` says: results of products
/// (`minimal`: of all of them; `…_with_context`: attention's, too).
enum class RecomputeModule : std::uint8_t {
  core_attn,
  mla_up_proj,
  moe_act,
  layernorm,
  mlp,
  moe,
  shared_experts,
  operators,
  blocks,
  gdn_norm_out,  ///< gated norms behind a scan
  mhc,           ///< sums of residual streams
  save_qkv_proj,
  save_out_proj,
  save_dot_except_mlp,
  save_dot_except_mlpwi,
  minimal,
  minimal_with_context
};
template <>
inline constexpr std::array<std::string_view, 17> kWordsOf<RecomputeModule>{"core_attn",
                                                                            "mla_up_proj",
                                                                            "moe_act",
                                                                            "layernorm",
                                                                            "mlp",
                                                                            "moe",
                                                                            "shared_experts",
                                                                            "operators",
                                                                            "blocks",
                                                                            "gdn_norm_out",
                                                                            "mhc",
                                                                            "save_qkv_proj",
                                                                            "save_out_proj",
                                                                            "save_dot_except_mlp",
                                                                            "save_dot_except_mlpwi",
                                                                            "minimal",
                                                                            "minimal_with_context"};

/// Tests whether the word names what is kept, so that all else is computed again.
constexpr bool is_kept_by_name(RecomputeModule word) {
  return word >= RecomputeModule::save_qkv_proj;
}

/// Whose inputs wait in host memory for the backward pass (Megatron-Core's `--offload-modules`).
enum class OffloadModule : std::uint8_t {
  expert_fc1,
  moe_act,
  core_attn,
  attn_proj,
  qkv_linear,
  attn_norm,
  mlp_norm
};
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<OffloadModule>{
    "expert_fc1", "moe_act", "core_attn", "attn_proj", "qkv_linear", "attn_norm", "mlp_norm"};

/// The work that runs beside kernels, not between them: communication of tensor and expert
/// parallelism, of gradients, parameters and between stages; weight gradients and shared experts
/// beside that. A stack has its own way with gradients, parameters and stages; a plan leaves it as
/// it is unless it names them, or says that they are not to overlap.
enum class Overlapped : std::uint8_t {
  tp,
  ep,
  grads,
  params,
  wgrad,
  shared_experts,
  p2p,
  no_grads,
  no_params,
  no_p2p
};
template <>
inline constexpr std::array<std::string_view, 10> kWordsOf<Overlapped>{
    "tp",  "ep",       "grads",     "params", "wgrad", "shared-experts",
    "p2p", "no-grads", "no-params", "no-p2p"};
template <>
inline constexpr WordSet<Overlapped> kNoneOf<Overlapped>{Overlapped::no_grads,
                                                         Overlapped::no_params, Overlapped::no_p2p};
template <>
inline constexpr std::string_view kEmptyWord<Overlapped> = "stack";

/// Who updates the weights: Adam; Muon, which orthogonalises the momentum of each matrix in place
/// of a second moment and leaves tables and vectors to Adam (arXiv 2502.16982); Adam with moments
/// in blocks of 8 bits (arXiv 2110.02861); with such moments that move to host memory where the
/// device is full; or any of these in the backward pass, so that a layer's gradients are freed as
/// soon as they are there.
enum class Optimizer : std::uint8_t {
  adam,
  muon,
  adam_8bit,
  adam_paged,
  adam_in_backward,
  adam_8bit_in_backward,
  adam_paged_in_backward
};
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<Optimizer>{"adam",
                                                                     "muon",
                                                                     "adam-8bit",
                                                                     "adam-paged",
                                                                     "adam-in-backward",
                                                                     "adam-8bit-in-backward",
                                                                     "adam-paged-in-backward"};
constexpr bool updates_in_backward(Optimizer optimizer) {
  return optimizer >= Optimizer::adam_in_backward;
}
constexpr bool pages_moments(Optimizer optimizer) {
  return optimizer == Optimizer::adam_paged || optimizer == Optimizer::adam_paged_in_backward;
}
constexpr bool keeps_8_bits(Optimizer optimizer) {
  return optimizer == Optimizer::adam_8bit || optimizer == Optimizer::adam_8bit_in_backward ||
         pages_moments(optimizer);
}

/// The weights that the optimizer updates: a copy in fp32, or the model's own.
enum class MasterWeights : std::uint8_t { fp32, none };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<MasterWeights>{"fp32", "none"};

/// How logits become a loss: all of them at once; some tokens at a time (torchtune's chunked
/// cross-entropy); in one kernel with the product before it, so that they are never there (Liger,
/// Cut Cross-Entropy, arXiv 2411.09009); or all at once by compiled kernels that keep a copy
/// between two of them (Megatron-Core's `--cross-entropy-fusion-impl native`).
enum class LossForm : std::uint8_t { whole, chunked, fused, compiled };
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<LossForm>{"whole", "chunked", "fused",
                                                                    "compiled"};

/// The unit that is launched as a CUDA graph: a whole iteration, or modules of each layer.
enum class GraphedModule : std::uint8_t { full, attn, mlp, moe, moe_router, moe_preprocess, mamba };
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<GraphedModule>{
    "full", "attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba"};

/// The part of the model that learns: all of it, adapters beside frozen matrices (LoRA, arXiv
/// 2106.09685; DoRA, arXiv 2402.09353), or nothing (gradients pass through all the same).
enum class Tuning : std::uint8_t { full, lora, dora, none };
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<Tuning>{"full", "lora", "dora", "none"};
/// Tests whether adapters learn, beside matrices that do not.
constexpr bool trains_adapters(Tuning tuning) {
  return tuning == Tuning::lora || tuning == Tuning::dora;
}

/// Matrices that get an adapter. Fused ones (`qkv`, `gate_up`) get one for all that they hold; the
/// last three are groups: q, k, v and o; gate, up, down and the experts'; both.
enum class AdapterTarget : std::uint8_t {
  q,
  k,
  v,
  qkv,
  o,
  gate,
  up,
  gate_up,
  down,
  experts,
  router,
  embedding,
  head,
  attention,
  mlp,
  all
};
template <>
inline constexpr std::array<std::string_view, 16> kWordsOf<AdapterTarget>{
    "q",    "k",       "v",      "qkv",       "o",    "gate",      "up",  "gate_up",
    "down", "experts", "router", "embedding", "head", "attention", "mlp", "all"};

/// How frozen matrices are stored: as computed (`bf16`), or narrower and widened at each use.
enum class BaseFormat : std::uint8_t { bf16, fp8, int8, nf4, nf4_double, gptq_int4, nvfp4 };
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<BaseFormat>{
    "bf16", "fp8", "int8", "nf4", "nf4-double", "gptq-int4", "nvfp4"};

/// The examples that the loss compares. Preferences have a chosen and a rejected sequence. DPO
/// (arXiv 2305.18290) sees them beside a reference model's, which may have been computed before. A
/// reward gives each one score; ORPO (2403.07691) and SimPO (2405.14734) need no second model. KTO
/// (2402.01306) has single sequences that are liked or not.
enum class Objective : std::uint8_t { sft, dpo, reward, dpo_precomputed, orpo, simpo, kto };
template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<Objective>{
    "sft", "dpo", "reward", "dpo-precomputed", "orpo", "simpo", "kto"};

/// Passes of an objective beside the one that learns.
struct ObjectiveTraits {
  std::int64_t sequences{1};    ///< of one sample
  std::int64_t forward_only{};  ///< passes over all of them that keep nothing
  bool reference{};             ///< some of these are of a second model, the one at the start
};

constexpr ObjectiveTraits traits(Objective objective) {
  switch (objective) {
    case Objective::sft: return {};
    case Objective::dpo: return {2, 1, true};
    case Objective::reward:
    case Objective::dpo_precomputed:
    case Objective::orpo:
    case Objective::simpo: return {2};
    // The model itself runs over answers of other prompts, and the reference over both: the
    // estimate of the divergence takes them (TRL's KTOTrainer).
    case Objective::kto: return {1, 3, true};
  }
  return {};
}

/// How sequences fill a micro batch: each padded to the longest, or several in a row of `seq_len`
/// tokens, with attention inside each of them or over all before.
enum class Packing : std::uint8_t { none, packed, packed_causal };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Packing>{"none", "packed",
                                                                   "packed-causal"};

/// How sequences of a global batch are dealt to ranks.
enum class Balance : std::uint8_t { none, sorted, longest_first };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Balance>{"none", "sorted",
                                                                   "longest-first"};

}  // namespace prequel
