#pragma once

/// The axes of a plan. Each stands here once: what holds its value, and in the table below its
/// names, what it can be and who else says it. Readers, writers and the search loop over
/// the table; physics reads `plan.tp`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "hw/terms/vocabulary.hpp"
#include "models/axes/axis_words.hpp"
#include "models/axes/schedules.hpp"

namespace prequel {

/// A box for each axis: `std::optional` for what is asked for, the bare value once it is settled,
/// `std::vector` for what is offered or searched.
template <template <class...> class Box>
struct AxisValues {
  Box<std::int64_t> nodes, dp, tp, pp, cp, ep;
  Box<std::int64_t> vpp;        ///< model chunks per pipeline stage
  Box<std::int64_t> vpp_group;  ///< micro batches that pass a chunk in a row; 0: as many as stages
  Box<std::int64_t> mbs, gbs;   ///< micro batch, global batch: sequences
  Box<std::int64_t> seq_len;    ///< tokens
  Box<std::int64_t> zero;       ///< ZeRO stage
  Box<Offload> offload;
  Box<Recompute> recompute;
  Box<std::int64_t> recompute_layers;  ///< full recompute keeps the input of every n-th layer
  Box<std::int64_t> recompute_first;  ///< full recompute of so many layers a chunk alone; 0: of all
  Box<bool> distribute_saved_activations;  ///< inputs that full recompute keeps, over tensor ranks
  Box<Precision> precision;                ///< of matrix products
  Box<Precision> grad_precision;           ///< in which gradients are accumulated and reduced
  Box<AttentionKind> attention;
  Box<bool> sequence_parallel;
  Box<Schedule> schedule;
  Box<StageSplit> stage_split;
  Box<std::int64_t> etp;  ///< tensor-parallel degree of experts
  Box<ContextComm> cp_comm;
  Box<Dispatcher> dispatcher;
  Box<Precision> dispatch_precision;  ///< of tokens on their way to experts; back in 16 bits
  Box<std::string>
      router_balance;  ///< `forced`, `dropped` (`dropped:1.25`), `natural`, or a histogram's file
  Box<Fp8Recipe> fp8_recipe;
  Box<bool> fp8_param_gather;      ///< parameters are gathered in the format of products
  Box<bool> fp8_attention;         ///< attention's core multiplies in fp8
  Box<bool> fp8_activation_store;  ///< inputs of SwiGLU are kept in fp8 for the backward pass
  Box<Optimizer> optimizer;
  Box<Precision> moments_precision;  ///< of Adam's two moments, or Muon's momentum
  Box<MasterWeights> master_weights;
  Box<LossForm> loss;
  Box<double> optimizer_offload;  ///< share of the moments in host memory, and of their update
  Box<ShardingGroup> sharding_group;
  Box<std::string> layout;  ///< Megatron's pipeline layout: "Et|(tt|)*30L"; empty: as stage_split
  Box<WordSet<RecomputeModule>> recompute_modules;
  Box<WordSet<OffloadModule>> offload_modules;
  Box<std::int64_t> offload_layers;  ///< whose activations wait in host memory
  Box<WordSet<Overlapped>> overlap;
  Box<WordSet<GraphedModule>> cuda_graphs;
  Box<Tuning> tuning;
  Box<std::int64_t> lora_rank;  ///< of adapters
  Box<WordSet<AdapterTarget>> lora_targets;
  Box<Precision> adapter_precision;
  Box<double> lora_dropout;  ///< probability; 0: no kernel for it
  Box<BaseFormat> base_precision;
  Box<bool> train_embeddings;
  Box<std::int64_t> learning_layers;  ///< the last so many learn; 0: all
  Box<Objective> objective;
  Box<std::string> lengths;  ///< `fixed`, `lognormal:MEAN:SD:MIN:MAX`, a file or a name
  Box<Packing> packing;
  Box<Balance> balance;
  Box<bool> compile;  ///< torch.compile fuses pointwise kernels
};

/// The box of a plan whose axes are all said.
template <class Value>
using Settled = Value;

/// A plan as asked for: what is empty is derived or defaulted.
using PlanRequest = AxisValues<std::optional>;

/// The values that an axis can have.
template <class Value>
struct Domain {};
template <>
struct Domain<std::int64_t> {
  std::int64_t least, most;
};
template <>
struct Domain<double> {
  double least, most;
};
template <Worded Enum>
struct Domain<Enum> {
  std::size_t words{kWordsOf<Enum>.size()};  ///< the first so many
};
template <>
struct Domain<std::string> {
  std::string_view usual;  ///< where nobody says it
};

/// Returns the value of an axis where nobody says it.
template <class Value>
Value plainest(const Domain<Value>& /*domain*/) {
  return {};
}
inline std::int64_t plainest(const Domain<std::int64_t>& domain) {
  return domain.least;
}
inline double plainest(const Domain<double>& domain) {
  return domain.least;
}
inline std::string plainest(const Domain<std::string>& domain) {
  return std::string(domain.usual);
}

/// Who says an axis beside the user, and what a search does with it.
enum class AxisUse : std::uint8_t {
  shared,    ///< nobody; all plans of a search share it
  listed,    ///< nobody; a search takes a list of values, else the job's
  searched,  ///< nobody; a search tries all that makes sense
  usual,     ///< the stack has a default, which all plans of a search share
  offered    ///< the stack has a default, and choices that a search tries
};
constexpr bool is_searched(AxisUse use) {
  return use == AxisUse::searched || use == AxisUse::offered;
}
constexpr bool is_listed(AxisUse use) {
  return use == AxisUse::listed || is_searched(use);
}
constexpr bool has_default(AxisUse use) {
  return use == AxisUse::usual || use == AxisUse::offered;
}

/// The role of an axis among the ranks of a job.
enum class RankRole : std::uint8_t {
  none,
  copies,    ///< as many ranks hold the same of the model
  replica,   ///< as many ranks share one replica of the model
  in_stage,  ///< as many ranks of a stage share its experts
};

/// An axis of values of one type. All such axes are of one type themselves, so that what loops over
/// the table is compiled once for each type of values.
template <class AxisValue>
struct PlanAxis {
  using Value = AxisValue;

  std::string_view name;  ///< JSON key, `--set` path, `--require` name, column
  /// Its boxes.
  Value AxisValues<Settled>::*settled;
  std::optional<Value> AxisValues<std::optional>::*asked;
  std::vector<Value> AxisValues<std::vector>::*listed;
  Domain<Value> domain;
  std::string_view alias;  ///< other name, as other tools have it ("data-parallel-size")
  std::string_view help;
  AxisUse use;
  RankRole role;
  std::string_view column;  ///< of tables of runs

  /// Tests whether stacks may say which values they offer.
  [[nodiscard]] constexpr bool has_choices() const {
    return use == AxisUse::offered || role == RankRole::replica;
  }

  /// `member` returns the box's place in the AxisValues that it is given a pointer to.
  template <class Member>
  constexpr PlanAxis(std::string_view axis, Member member, Domain<Value> values,
                     std::string_view other_name, std::string_view what, AxisUse users,
                     RankRole ranks = {}, std::string_view of_tables = {})
      : name(axis),
        settled(member(static_cast<AxisValues<Settled>*>(nullptr))),
        asked(member(static_cast<AxisValues<std::optional>*>(nullptr))),
        listed(member(static_cast<AxisValues<std::vector>*>(nullptr))),
        domain(values),
        alias(other_name),
        help(what),
        use(users),
        role(ranks),
        column(of_tables.empty() ? axis : of_tables) {}

  /// Its box in these AxisValues.
  template <class Values>
  [[nodiscard]] constexpr auto& of(Values& values) const {
    if constexpr (std::is_base_of_v<AxisValues<Settled>, Values>) {
      return values.*settled;
    } else if constexpr (std::is_base_of_v<AxisValues<std::optional>, Values>) {
      return values.*asked;
    } else {
      return values.*listed;
    }
  }
};

inline constexpr Domain<std::int64_t> kRanks{1, 1 << 20};  // times kDegree: products below 2^60
inline constexpr Domain<std::int64_t> kDegree{1, 1 << 13};
inline constexpr Domain<std::int64_t> kSize{1, 1 << 30};
inline constexpr Domain<std::int64_t> kZero{0, 3};
inline constexpr Domain<std::int64_t> kLayers{0, 100000};
inline constexpr Domain<Precision> kFormats{6};  // the others are recipes of fp8

inline constexpr std::tuple kPlanAxes(
    PlanAxis{"nodes", []<class Of>(Of*) { return &Of::nodes; }, kRanks, "", "nodes in use",
             AxisUse::listed},
    PlanAxis{"dp", []<class Of>(Of*) { return &Of::dp; }, kRanks, "data-parallel-size",
             "data-parallel degree", AxisUse::searched, RankRole::copies},
    PlanAxis{"tp", []<class Of>(Of*) { return &Of::tp; }, kDegree, "tensor-model-parallel-size",
             "tensor-parallel degree", AxisUse::searched, RankRole::replica},
    PlanAxis{"pp", []<class Of>(Of*) { return &Of::pp; }, kDegree, "pipeline-model-parallel-size",
             "pipeline stages", AxisUse::searched, RankRole::replica},
    PlanAxis{"cp", []<class Of>(Of*) { return &Of::cp; }, kDegree, "context-parallel-size",
             "context-parallel degree", AxisUse::searched, RankRole::replica},
    PlanAxis{"ep", []<class Of>(Of*) { return &Of::ep; }, kDegree, "expert-model-parallel-size",
             "expert-parallel degree", AxisUse::searched, RankRole::in_stage},
    PlanAxis{"vpp", []<class Of>(Of*) { return &Of::vpp; }, kDegree, "",
             "model chunks per pipeline stage", AxisUse::searched},
    PlanAxis{"vpp_group", []<class Of>(Of*) { return &Of::vpp_group; }, kLayers,
             "microbatch-group-size-per-virtual-pipeline-stage",
             "micro batches that pass a chunk in a row (0: as many as stages)", AxisUse::usual},
    PlanAxis{"mbs", []<class Of>(Of*) { return &Of::mbs; }, kRanks, "micro-batch-size",
             "micro batch, sequences", AxisUse::searched},
    PlanAxis{"gbs", []<class Of>(Of*) { return &Of::gbs; }, kSize, "global-batch-size",
             "global batch, sequences", AxisUse::listed},
    PlanAxis{"seq_len", []<class Of>(Of*) { return &Of::seq_len; }, kSize, "seq-length",
             "tokens of a sequence", AxisUse::shared},
    PlanAxis{"zero", []<class Of>(Of*) { return &Of::zero; }, kZero, "zero-stage", "ZeRO stage",
             AxisUse::offered, RankRole::none, "zero_stage"},
    PlanAxis{"offload", []<class Of>(Of*) { return &Of::offload; }, Domain<Offload>{}, "",
             "states and activations that host memory holds", AxisUse::offered},
    PlanAxis{"recompute", []<class Of>(Of*) { return &Of::recompute; }, Domain<Recompute>{}, "",
             "activations that the backward pass recomputes", AxisUse::offered},
    PlanAxis{"recompute_layers", []<class Of>(Of*) { return &Of::recompute_layers; }, kDegree,
             "recompute-num-layers", "layers between two checkpoints of full recompute",
             AxisUse::offered},
    PlanAxis{"recompute_first", []<class Of>(Of*) { return &Of::recompute_first; }, kLayers, "",
             "layers of a chunk that full recompute is of (0: all)", AxisUse::usual},
    PlanAxis{"distribute_saved_activations",
             []<class Of>(Of*) { return &Of::distribute_saved_activations; }, Domain<bool>{}, "",
             "split the inputs that full recompute keeps over the tensor-parallel group",
             AxisUse::usual},
    PlanAxis{"precision", []<class Of>(Of*) { return &Of::precision; }, kFormats, "",
             "format of matrix products", AxisUse::offered},
    PlanAxis{"grad_precision", []<class Of>(Of*) { return &Of::grad_precision; }, kFormats, "",
             "in which gradients are accumulated and reduced", AxisUse::usual},
    PlanAxis{"attention", []<class Of>(Of*) { return &Of::attention; }, Domain<AttentionKind>{}, "",
             "implementation of attention", AxisUse::usual},
    PlanAxis{"sequence_parallel", []<class Of>(Of*) { return &Of::sequence_parallel; },
             Domain<bool>{}, "", "split norms and dropouts over the tensor-parallel group",
             AxisUse::offered},
    PlanAxis{"schedule", []<class Of>(Of*) { return &Of::schedule; }, Domain<Schedule>{}, "",
             "pipeline schedule", AxisUse::offered},
    PlanAxis{"stage_split", []<class Of>(Of*) { return &Of::stage_split; }, Domain<StageSplit>{},
             "", "ends that count as a layer when layers are dealt to stages", AxisUse::offered},
    PlanAxis{"etp", []<class Of>(Of*) { return &Of::etp; }, kDegree, "expert-tensor-parallel-size",
             "tensor-parallel degree of experts", AxisUse::searched, RankRole::in_stage},
    PlanAxis{"cp_comm", []<class Of>(Of*) { return &Of::cp_comm; }, Domain<ContextComm>{},
             "cp-comm-type", "how a context-parallel group shares keys and values",
             AxisUse::offered},
    PlanAxis{"dispatcher", []<class Of>(Of*) { return &Of::dispatcher; }, Domain<Dispatcher>{},
             "moe-token-dispatcher-type", "who carries tokens to experts", AxisUse::offered},
    PlanAxis{"dispatch_precision", []<class Of>(Of*) { return &Of::dispatch_precision; }, kFormats,
             "", "format of tokens, and of gradients, on their way to experts", AxisUse::usual},
    PlanAxis{"router_balance", []<class Of>(Of*) { return &Of::router_balance; },
             Domain<std::string>{"forced"}, "",
             "load of experts: forced, dropped, dropped:FACTOR, natural, or a file of one number "
             "an expert",
             AxisUse::usual},
    PlanAxis{"fp8_recipe", []<class Of>(Of*) { return &Of::fp8_recipe; }, Domain<Fp8Recipe>{}, "",
             "how tensors are scaled to fp8 or fp4", AxisUse::offered},
    PlanAxis{"fp8_param_gather", []<class Of>(Of*) { return &Of::fp8_param_gather; },
             Domain<bool>{}, "", "gather parameters in the format of products", AxisUse::usual},
    PlanAxis{"fp8_attention", []<class Of>(Of*) { return &Of::fp8_attention; }, Domain<bool>{},
             "fp8-dot-product-attention", "multiply in fp8 inside attention, too", AxisUse::usual},
    PlanAxis{"fp8_activation_store", []<class Of>(Of*) { return &Of::fp8_activation_store; },
             Domain<bool>{}, "activation-func-fp8-input-store",
             "keep the inputs of SwiGLU in fp8 for the backward pass", AxisUse::usual},
    PlanAxis{"optimizer", []<class Of>(Of*) { return &Of::optimizer; }, Domain<Optimizer>{}, "",
             "algorithm that updates the weights", AxisUse::usual},
    PlanAxis{"moments_precision", []<class Of>(Of*) { return &Of::moments_precision; }, kFormats,
             "", "format of the optimizer's moments", AxisUse::usual},
    PlanAxis{"master_weights", []<class Of>(Of*) { return &Of::master_weights; },
             Domain<MasterWeights>{}, "",
             "copy of the weights that the optimizer updates: fp32, or none", AxisUse::usual},
    PlanAxis{"loss", []<class Of>(Of*) { return &Of::loss; }, Domain<LossForm>{}, "",
             "how logits become a loss: whole, chunked, fused with their product, compiled",
             AxisUse::usual},
    PlanAxis{"optimizer_offload", []<class Of>(Of*) { return &Of::optimizer_offload; },
             Domain<double>{0, 1}, "optimizer-offload-fraction",
             "share of the optimizer's moments that host memory holds and updates", AxisUse::usual},
    PlanAxis{"sharding_group", []<class Of>(Of*) { return &Of::sharding_group; },
             Domain<ShardingGroup>{}, "", "over whom ZeRO shards", AxisUse::usual},
    PlanAxis{"layout", []<class Of>(Of*) { return &Of::layout; }, Domain<std::string>{},
             "pipeline-model-parallel-layout",
             "layers of each stage as Megatron writes them, e.g. 'Et|(tt|)*30L'",
             AxisUse::searched},
    PlanAxis{"recompute_modules", []<class Of>(Of*) { return &Of::recompute_modules; },
             Domain<WordSet<RecomputeModule>>{}, "",
             "modules that selective recompute computes again", AxisUse::offered},
    PlanAxis{"offload_modules", []<class Of>(Of*) { return &Of::offload_modules; },
             Domain<WordSet<OffloadModule>>{}, "", "whose inputs wait in host memory",
             AxisUse::usual},
    PlanAxis{"offload_layers", []<class Of>(Of*) { return &Of::offload_layers; }, kLayers,
             "cpu-offloading-num-layers", "layers whose activations wait in host memory",
             AxisUse::usual, RankRole::none, "cpu_offload_layers"},
    PlanAxis{"overlap", []<class Of>(Of*) { return &Of::overlap; }, Domain<WordSet<Overlapped>>{},
             "", "communication that runs beside kernels; stack: as the stack has it by itself",
             AxisUse::offered},
    PlanAxis{"cuda_graphs", []<class Of>(Of*) { return &Of::cuda_graphs; },
             Domain<WordSet<GraphedModule>>{}, "", "modules that are launched as a graph",
             AxisUse::offered},
    PlanAxis{"tuning", []<class Of>(Of*) { return &Of::tuning; }, Domain<Tuning>{}, "",
             "parameters that learn", AxisUse::listed},
    PlanAxis{"lora_rank", []<class Of>(Of*) { return &Of::lora_rank; },
             Domain<std::int64_t>{0, 1 << 13}, "", "rank of adapters", AxisUse::listed},
    PlanAxis{"lora_targets", []<class Of>(Of*) { return &Of::lora_targets; },
             Domain<WordSet<AdapterTarget>>{}, "", "matrices that get an adapter", AxisUse::usual},
    PlanAxis{"adapter_precision", []<class Of>(Of*) { return &Of::adapter_precision; }, kFormats,
             "", "in which adapters are stored", AxisUse::usual},
    PlanAxis{"lora_dropout", []<class Of>(Of*) { return &Of::lora_dropout; }, Domain<double>{0, 1},
             "", "dropout of what adapters read (0: none)", AxisUse::usual},
    PlanAxis{"base_precision", []<class Of>(Of*) { return &Of::base_precision; },
             Domain<BaseFormat>{}, "", "how frozen matrices are stored (bf16: as computed)",
             AxisUse::listed},
    PlanAxis{"train_embeddings", []<class Of>(Of*) { return &Of::train_embeddings; },
             Domain<bool>{}, "", "embedding and head learn beside the adapters", AxisUse::usual},
    PlanAxis{"learning_layers", []<class Of>(Of*) { return &Of::learning_layers; }, kLayers, "",
             "the last so many layers learn (0: all)", AxisUse::usual},
    PlanAxis{"objective", []<class Of>(Of*) { return &Of::objective; }, Domain<Objective>{}, "",
             "kind of loss", AxisUse::usual},
    PlanAxis{"lengths", []<class Of>(Of*) { return &Of::lengths; }, Domain<std::string>{"fixed"},
             "", "tokens of sequences: fixed, lognormal:MEAN:SD:MIN:MAX, or a file of them",
             AxisUse::usual},
    PlanAxis{"packing", []<class Of>(Of*) { return &Of::packing; }, Domain<Packing>{}, "",
             "how sequences fill a micro batch", AxisUse::usual},
    PlanAxis{"balance", []<class Of>(Of*) { return &Of::balance; }, Domain<Balance>{}, "",
             "how sequences are dealt to ranks", AxisUse::usual},
    PlanAxis{"compile", []<class Of>(Of*) { return &Of::compile; }, Domain<bool>{}, "",
             "fuse pointwise kernels (torch.compile); off: eager PyTorch", AxisUse::usual});

/// Calls `visit` with each axis, in the order of the table.
template <class Visit>
void each_axis(Visit&& visit) {
  std::apply([&](const auto&... axis) { (visit(axis), ...); }, kPlanAxes);
}

}  // namespace prequel
