#pragma once

/// The software stack: what the framework adds to, or takes from, what the hardware costs.
/// One file of data/software/ a release, since the constants of one release belong to it.

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "hw/base/stated_spread.hpp"
#include "hw/base/units.hpp"
#include "hw/terms/vocabulary.hpp"
#include "models/axes/axes.hpp"

namespace prequel {

class Document;

/// The way the host launches kernels: ahead of them, or waiting for each
/// (`CUDA_LAUNCH_BLOCKING=1`).
enum class Launch : std::uint8_t { async, blocking };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Launch>{"async", "blocking"};

/// How blocks that do not divide evenly are dealt to pipeline stages.
enum class StageDealing : std::uint8_t {
  refuse,          ///< Megatron-LM: layers % pp must be 0
  ceil_per_stage,  ///< Megatron-DeepSpeed 2022: ceil(layers / pp) each until none are left
  balanced,        ///< Megatron-Bridge: equal shares, one more in the middle while some are left
  by_cost          ///< nanotron: a stage closes once its share of all products is reached
};
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<StageDealing>{"refuse", "ceil-per-stage",
                                                                        "balanced", "by-cost"};

/// When gradients are reduced over the data-parallel group.
enum class GradientOverlap : std::uint8_t {
  none,         ///< after the last backward pass
  no_pipeline,  ///< with the backward pass when pp = 1, else after it
  always        ///< with the backward pass of the last micro batch
};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<GradientOverlap>{"none", "no-pipeline",
                                                                           "always"};

/// Who shards parameters and gradients, which says how large what it gathers is and how stages of
/// a pipeline go with it.
enum class Sharding : std::uint8_t {
  none,       ///< optimizer states at most; with stages no more than these
  deepspeed,  ///< parts smaller than layers, without stages
  fsdp,       ///< layer by layer; in stages once a step, kept as whole gradients are
  /// As fsdp, of flat parameters in which adapters lie beside frozen matrices: gradients are of all
  /// of them, and whole until the last micro batch (PyTorch's FSDP with use_orig_params, no_sync).
  fsdp_flat,
  fsdp_tables,   ///< as fsdp, embedding and head by themselves, each while it is used
  megatron_fsdp  ///< layer by layer, in stages as without them
};
template <>
inline constexpr std::array<std::string_view, 6> kWordsOf<Sharding>{
    "none", "deepspeed", "fsdp", "fsdp-flat", "fsdp-tables", "megatron-fsdp"};

/// A constant of kernels as torch.compile makes them, and of those that run one by one without it;
/// one number where the stack has no choice.
struct CompiledOrEager {
  double compiled{};
  std::optional<double> eager;

  /// Returns the constant of a plan that is or is not compiled.
  [[nodiscard]] double of(bool is_compiled) const {
    return is_compiled ? compiled : eager.value_or(compiled);
  }
};

/// How kernels of the stack differ from the best ones of the device.
struct KernelStack {
  double gemm_time_factor{1.0};  ///< over the device's GEMM model: sustained clock, library
  /// More of it by the format of the operands, over that of 16 bits.
  std::array<double, std::size(kWordsOf<Precision>)> format_time_factors = [] {
    std::array<double, std::size(kWordsOf<Precision>)> ones{};
    ones.fill(1.0);
    return ones;
  }();
  CompiledOrEager pointwise_traffic_factor{1.0, {}};  ///< over well-fused kernels
  CompiledOrEager cross_entropy_bytes;  ///< traffic per logit, forward and backward together
  /// Traffic of mask, softmax and dropout per element of the score matrix, forward and backward
  /// together, of `attention: unfused` and of `attention: fused-softmax`. Scalar code of a CPU
  /// counts as the bytes that take as long.
  std::optional<double> unfused, fused_softmax;
  double optimizer_traffic_bytes{};  ///< per parameter and step: states and gradient read, written
  /// True where layers are Transformer Engine's: the gather of an input for its weight gradient
  /// goes on beside the dgrad (sequence parallelism), and a fused loss works in place.
  bool transformer_engine{};
  /// True where the repetition of a layer ends with the last result that its backward needs, so
  /// that the MLP's last product is not repeated (PyTorch's checkpoints from 2.1 on, unless they
  /// are reentrant); else it is repeated as all others are.
  bool recompute_stops_early{};
  bool grouped_products{true};  ///< one kernel for the experts of a rank; else one an expert
  std::string flash_kernel;     ///< kernel generation of the device file for `attention: flash`
  /// Per token and head, what the backward of windowed attention with sinks moves beside its
  /// kernel, in builds whose kernel has none for both.
  double sink_backward_bytes{};
  /// True where the experts' first product, their activation and its cast are one kernel if a whole
  /// iteration is one graph.
  bool fused_experts{};
  bool fused_adapters{};  ///< one kernel adds an adapter's product to the frozen one's
  /// Rates at which frozen matrices are widened, over that of a copy, by format; see
  /// `dequantise_rate`.
  std::array<double, std::size(kWordsOf<BaseFormat>)> dequantise_rates{};

  /// Where the file says nothing, 0.25: what LitGPT's runs of Llama-2-7B in nf4 with bitsandbytes
  /// show beside those in bf16 (79 ms a step on an A100). Others show 0.14 to 0.5.
  [[nodiscard]] double dequantise_rate(BaseFormat format) const {
    if (format == BaseFormat::nf4_double) format = BaseFormat::nf4;
    const double stated = dequantise_rates[static_cast<std::size_t>(format)];
    return stated > 0 ? stated : 0.25;
  }
  /// Tests whether the stack's kernels can be compiled or run one by one, as the plan says.
  [[nodiscard]] bool may_be_eager() const { return pointwise_traffic_factor.eager.has_value(); }
  /// Tests whether a compiled plan fuses what eager kernels of the stack keep apart.
  [[nodiscard]] bool fuses(bool compiled) const { return compiled && may_be_eager(); }
  /// Returns the traffic of pointwise kernels over their compulsory bytes.
  [[nodiscard]] double pointwise_traffic(bool compiled) const {
    return pointwise_traffic_factor.of(compiled);
  }

  /// Over the device's price of a product in that format.
  [[nodiscard]] double time_factor(Precision format) const {
    return gemm_time_factor * format_time_factors[static_cast<std::size_t>(format)];
  }
};

/// Kernels that the host launches for a part of a layer.
struct LaunchCounts {
  double forward{};
  double backward{};

  LaunchCounts& operator+=(const LaunchCounts& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  friend LaunchCounts operator*(double times, LaunchCounts counts) {
    return {times * counts.forward, times * counts.backward};
  }
};

/// Launches of a layer by what it is made of.
struct LayerLaunches {
  LaunchCounts block;     ///< of attention and MLP
  LaunchCounts experts;   ///< router, permutation, activation
  LaunchCounts alltoall;  ///< of the dispatcher of that name
  /// Launches of each product of an expert: its own, its casts in 8 and 4 bits, and what tensors
  /// that are scaled by their largest element take more.
  struct OfProduct {
    double product{}, casts{}, amax{};
  } expert_product;

  /// Attention has about two in three of a block's kernels, in Megatron-Core's profiles (14 of 22
  /// forward, 24 of 38 backward) as in eager ones (36 of 50, 60 of 82).
  static constexpr double kOfAttention = 0.64;
  [[nodiscard]] LaunchCounts attention() const { return kOfAttention * block; }
  [[nodiscard]] LaunchCounts mlp() const { return (1.0 - kOfAttention) * block; }
  /// A graph of the router launches about half of what experts launch at once.
  [[nodiscard]] LaunchCounts router() const { return 0.5 * experts; }
};

/// The host's additional time for collectives of tensor ranks.
struct CollectiveLaunches {
  Seconds each{};               ///< of any of them
  Seconds ring_step{};          ///< and for every step of a ring inside a node
  Seconds network_ring_step{};  ///< the same where the ring crosses nodes

  [[nodiscard]] Seconds time(std::int64_t ranks, bool across_nodes) const {
    return each + static_cast<double>(ranks - 1) * (across_nodes ? network_ring_step : ring_step);
  }
};

/// The time of one launch where the host is tuned (pinned processes, graphs near by, no logging
/// between kernels) and where it is not.
struct LaunchRange {
  Seconds tuned, untuned;
};

/// Time that the host adds. A stack either states what each layer waits for, or how long a launch
/// takes and how many there are; then the host runs ahead of the device, and a layer takes
///
///     max(device, host) + lost_share·min(device, host)
///
/// as the queue runs empty where the host has to wait for the device, mostly in layers of dropless
/// experts, which read their token counts back.
struct HostStack {
  Launch launch{};
  Seconds async_launch_per_layer{};         ///< forward, and the same for recompute
  Seconds blocking_launch_per_layer{};      ///< the same when the host waits for each kernel
  Seconds one_launch{};                     ///< of one kernel; 0: the layer's times above count
  std::optional<LaunchRange> launch_range;  ///< of `one_launch`, by where it runs
  double lost_share{};
  double deepep_lost_share{};  ///< of these where DeepEP has the host wait for the counts
  LayerLaunches launches;
  CollectiveLaunches staged_collectives;  ///< in pipelines that span nodes, besides `launches`
  /// Waits of a forward pass for how many tokens other ranks send to each expert, mostly the ranks'
  /// skew; another micro batch hides them.
  Seconds count_wait{};
  /// Share that launches of a forward and a backward side by side take more than both alone:
  /// the host goes to and fro between two schedules.
  double beside_launch_share{};
  Seconds update_per_layer{};     ///< optimizer's and gradient norm's host work, of a rank's layer
  Seconds fixed_per_iteration{};  ///< waits for loss and norm, logging, data
};

/// Time of an iteration beside all that is played: what scales with nothing, and the optimizer's
/// host work on the layers of the rank that holds most.
inline Seconds beside_the_passes(const HostStack& host, std::int64_t layers, std::int64_t stages) {
  const std::int64_t most = (layers + stages - 1) / stages;
  return host.fixed_per_iteration + static_cast<double>(most) * host.update_per_layer;
}

/// Kernels that a layer's weights and gradients pass where ranks gather and reduce it, beside the
/// collectives: reads and writes of each element.
struct ShardCopies {
  double gathered{};   ///< of a gathered weight, each time
  double gradients{};  ///< of a gradient, in the format of activations
  double reduced{};    ///< of a gradient, in the format in which it is reduced
};

/// Gradients that are reduced together; nothing stated: a layer's while passes run, else a stage's.
struct GradientBucket {
  Bytes size{};         ///< of one all-reduce, half of one to owners
  double parameters{};  ///< or, while passes run, at least so many by either way, ...
  double of_replica{};  ///< ... and for each replica so many, where that is more
};

/// How the stack communicates. The bytes of a gradient on the wire follow the plan's
/// grad_precision.
struct CommunicationStack {
  GradientOverlap gradient_overlap{};
  /// Seconds that a transfer between stages takes beside its bytes where it holds up the compute
  /// stream: the host waits for it and then launches what follows. None: transfers go beside
  /// passes.
  std::optional<Seconds> p2p_wait;
  bool scatter_gather_p2p{};               ///< each tensor rank sends its part, then an all-gather
  double blocking_collective_factor{1.0};  ///< over tensor-parallel collectives, launch blocking
  /// Share of the time in which tensor-parallel communication and a product run side by side that
  /// both lose (user buffers); 1: nothing runs beside it.
  double exposed_tensor{1.0};
  /// The time that each of these hides less in any case: parts of it that wait for one another, and
  /// launches of the product's parts.
  Seconds exposed_tensor_fixed;
  [[nodiscard]] bool overlaps_tensor() const { return exposed_tensor < 1; }
  /// True where tensor ranks' gathers for products (sequence parallelism) go in the format of
  /// these, cast beforehand.
  bool narrow_gathers{};
  /// Share of what experts exchange that can run beside another micro batch's passes, kernel by
  /// kernel or in one graph.
  double beside{};
  double beside_in_graph{};
  int fully_sharded_from_zero{3};  ///< ZeRO stage from which layers are gathered one by one
  Sharding sharding{};
  /// Layers gathered ahead of the one that computes. 0: nothing that ZeRO shares out goes beside
  /// passes.
  int prefetch_layers{1};
  /// Share of the shorter of two overlapping tasks that both lose: gathers and reductions beside
  /// the layers.
  double overlap_contention{};
  /// Seconds of each step of a ring of context ranks beside its transfer where no graph launches
  /// it: launches, waits between streams. Forward; twice that backward.
  Seconds context_step{};
  ShardCopies shard_copies;
  BytesPerSecond rank_rate_limit{};  ///< most that one rank puts on the network; 0: no limit
  bool reduces_to_all{};  ///< gradients are all-reduced with ZeRO-1 too, not to their owners
  GradientBucket gradient_bucket{};
};

/// Counts and shares that hold for every stack (data/common).
struct CommonStack {
  double router_imbalance{};  ///< tokens of the busiest of 8 ranks over the mean, natural routing
  double reserved_share{};    ///< part of a device at which reserved memory saturates
  double score_forward_share{};  ///< part of the traffic of scores that is the forward pass's
  double count_wait_beside{};    ///< part of `count_wait` that another micro batch leaves
  LaunchCounts ring_step;        ///< of a step of a ring of context ranks, beside attention's own
  LaunchCounts head_exchange;    ///< of context ranks whose heads change places with tokens
  double padded_permute{};  ///< traffic of permuting tokens that are padded, over a fused kernel's
  double gathers_back{};    ///< micro batches of a pipeline whose gathered inputs are back
};

/// The scope of a figure of memory: what PyTorch's allocator has handed out, what it holds, or all
/// that the driver has given away, with contexts and communicators, as nvidia-smi prints it.
enum class MemoryKind : std::uint8_t { allocated, reserved, smi };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<MemoryKind>{"allocated", "reserved",
                                                                      "smi"};

/// Copies that a layer keeps beside what its backward pass has to read: rotated queries and keys
/// and the gate's activation, of eager kernels; keys and values of fewer heads, copied for each
/// query head; inputs of products with matrices in nf4, which older releases of bitsandbytes hold;
/// hidden states in fp32, since norms are beside matrices of bitsandbytes.
enum class KeptCopy : std::uint8_t { rotated, repeated_keys, quantised_inputs, wide_norms };
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<KeptCopy>{
    "rotated", "repeated-keys", "quantised-inputs", "wide-norms"};

/// The rank whose memory a stack logs: the one that holds most, the first, or the last, which has
/// the loss.
enum class LoggedRank : std::uint8_t { fullest, first, last };

/// Constants of the memory model (equations in models/memory/memory.hpp).
struct MemoryStack {
  MemoryKind prints{MemoryKind::smi};  ///< which memory logs of the stack print
  /// Megatron-Core's is the last. Others that print what tensors take print it of the first, as
  /// nanotron does what is reserved; else it is the one that holds most.
  LoggedRank logs{};
  double weight_bytes{};            ///< per parameter
  double gradient_bytes{};          ///< per parameter, with a sum in fp32 beside it if more than 4
  double optimizer_bytes{};         ///< per parameter: master weights, moments, main gradient
  double activation_factor{1.0};    ///< over what layers keep by their shapes
  double layer_workspace_factor{};  ///< over the activations of the one layer that is live
  /// Gradients that are live in a layer's backward pass, per token and column of its hidden states
  /// and its MLP; what logits take instead, where that is more.
  double backward_bytes{};
  WordSet<KeptCopy> keeps_copies;
  /// Bytes of the copies that eager kernels keep beside a norm's result, per element that it reads;
  /// where there are any, a gate's activation is kept too.
  double norm_copy_bytes{};
  /// True where gradients are freed once the update is done (PyTorch's `set_to_none`), so that
  /// those of a step of one micro batch are not there when its loss is.
  bool frees_gradients{};
  bool keeps_gathers{};  ///< inputs that tensor ranks gathered stay; else they are gathered again
  /// Per logit, at most at once, with loss whole: on one rank, and where tensor ranks share it.
  CompiledOrEager logit_bytes, shared_logit_bytes;
  /// Per attention score kept for the backward pass (unfused), with the mask of a dropout and what
  /// it leaves; without dropout the softmax alone.
  double score_bytes{};
  double update_copies{};  ///< of a moment, that the update makes of all parameters at once
  /// Micro batches received ahead, beside those in flight: one by DeepSpeed's pipeline engine,
  /// which deals layers as `ceil-per-stage` does.
  std::int64_t extra_pipeline_buffers{};
  double reduce_bytes{};    ///< per parameter, buffers of gradient reduction when dp > 1
  Bytes workspaces{};       ///< of cuBLAS, which the allocator hands out and never gets back
  Bytes framework{};        ///< context, libraries, NCCL buffers: beside the allocator
  Bytes allocator_cache{};  ///< freed blocks that the allocator keeps: printed, not needed
  /// More of it, of what one part of a step frees and the next takes: activations and buffers, or
  /// gradients and the update where these are fewer. Blocks do not fit, ...
  double cache_share{};
  /// ... and where layers, or inputs of tensor ranks, are gathered on another stream, their blocks
  /// wait for it.
  double gathered_cache_share{};
  Bytes parallel_framework{};  ///< more of it when tp or pp > 1

  /// Bytes of a logit whose vocabulary `ranks` tensor ranks share.
  [[nodiscard]] double most_of_logit(bool compiled, std::int64_t ranks) const {
    return (ranks > 1 ? shared_logit_bytes : logit_bytes).of(compiled);
  }
};

/// The uncertainty that a calibration by measured runs leaves; constants go by their names in
/// data/uncertainty.
struct Calibration {
  double time_noise{};  ///< scale of the scatter of runs, over their time
  struct Spread {
    std::string constant;
    double sd{};
  };
  std::vector<Spread> spreads;  ///< of constants that stand in no file
  struct Correlation {
    std::string first, second;
    double value{};
  };
  std::vector<Correlation> correlations;
};

/// The kind of model that tells tables of runs apart: a stack that is good at one need not be at
/// the other.
enum class ModelKind : std::uint8_t { dense, experts };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ModelKind>{"dense", "experts"};

/// One release of a training stack.
struct Software {
  std::string name;
  std::string framework;  ///< megatron-lm, megatron-deepspeed, deepspeed, composer-fsdp, …
  /// The release that was asked for, where no file of it is known and this one is the nearest of
  /// the same framework, or what stands in for that; the stated error is then that of an unknown
  /// release.
  std::string stands_for;
  bool other_framework{};   ///< whether that was of a framework that no file is of
  bool validated{};         ///< whether its constants were checked against measured runs
  double relative_error{};  ///< expected error of sec_per_iter
  std::string error_basis;
  /// The kind of model that this error was found on, where it is only one.
  std::optional<ModelKind> error_kind;
  std::int64_t vocab_multiple{1};  ///< the vocabulary is padded to this times tp
  StageDealing stage_dealing{};
  PlanRequest defaults;  ///< what a plan takes from the stack where the user does not say it
  /// Choices of the stack's users, axis by axis; a search takes these unless told otherwise. An
  /// axis that the file leaves out is empty here, and the search takes its default alone.
  AxisValues<std::vector> choices;
  KernelStack kernels;
  HostStack host;
  CommunicationStack communication;
  MemoryStack memory;
  CommonStack common;                      ///< empty where no Library opened the file
  std::vector<StatedSpread> spreads;       ///< of the file's numbers
  std::optional<Calibration> calibration;  ///< where runs were fitted
};

/// Relative error of another release of a framework than the one whose constants are known:
/// constants of one release of Composer were 28 % off on the runs of another on the same card.
/// Stated as well for constants that were checked on another kind of device.
inline constexpr double kUnknownReleaseError = 0.28;

/// Tests whether the stack's stated error rests on no run of models of this kind.
inline bool was_checked_on_others(const Software& software, bool has_experts) {
  return software.error_kind && (*software.error_kind == ModelKind::experts) != has_experts;
}

/// Reads a `prequel/software/1` file. Throws InputError with every problem of the file.
Software read_software(const Document& file);

}  // namespace prequel
