#include "hw/base/errors.hpp"
#include "models/layers/layer.hpp"

namespace prequel {
namespace {

/// A linear layer with `outputs` rows over `inputs`, and its bias.
std::int64_t linear_parameters(std::int64_t outputs, std::int64_t inputs, bool bias) {
  return outputs * inputs + (bias ? outputs : 0);
}

/// Passes of a kernel for a soft-cap over its elements: it reads and writes them; backward it reads
/// the gradient and its result and writes. A flash kernel has it in registers.
constexpr double kCapForward = 2;
constexpr double kCapBackward = 3;

const ScoreTraffic& score_traffic(const LayerSetting& setting, const Software& software) {
  const bool fused = setting.attention == AttentionKind::fused_softmax;
  const auto& traffic = fused ? software.kernels.fused_softmax : software.kernels.unfused;
  if (!traffic) {
    throw InputError("attention: software \"" + software.name + "\" has no \"" +
                     std::string(name(setting.attention)) +
                     "\" attention (kernels.score_traffic); another of \"unfused\", "
                     "\"fused-softmax\", \"flash\" would do");
  }
  return *traffic;
}

/// Writes down the pieces of one block.
class BlockTeller {
 public:
  BlockTeller(const Transformer& model, LayerKind kind, const LayerSetting& setting,
              const Software& software)
      : model_(model),
        kind_(kind),
        setting_(setting),
        software_(software),
        ring_(software.communication.context_ring),
        tokens_(setting.tokens()),
        shared_tokens_(tokens_ / setting.token_split()),
        expert_tokens_(real(tokens_) / real(setting.tp)),
        element_(bytes_per_element(setting.precision)),
        operand_(bytes_per_element(setting.products)),
        token_bytes_(real(tokens_ * model.hidden) * element_) {}

  Layer tell() && {
    tell_input();
    tell_norm();
    layer_.pieces.back().feeds = OffloadModule::qkv_linear;
    tell_input_gather();
    model_.is_latent() ? tell_latent_projections() : tell_qkv();
    tell_attention_core();
    tell_projection();
    // Side by side, attention and MLP share their norm, their sum and their collectives.
    if (!model_.parallel_block) {
      tell_end_of_attention();
      tell_residual();
      tell_norm();
      // Experts work on the rank's own tokens: nothing is gathered for them.
      if (!kind_.experts) tell_input_gather();
    }
    kind_.experts ? tell_experts() : tell_mlp();
    tell_residual();
    return std::move(layer_);
  }

 private:
  /// Megatron's --distribute-saved-activations, DeepSpeed's partition_activations.
  void tell_input() {
    layer_.input = token_bytes_ / real(setting_.token_split());
    layer_.saved_input = layer_.input / real(setting_.saved_input_ranks);
    if (setting_.saved_input_ranks > 1) {
      layer_.input_gather = {layer_.input / real(setting_.saved_input_layers)};
    }
  }

  /// How a linear layer is split over the tensor group, and what it belongs to.
  struct Split {
    bool inputs{};  ///< else outputs are, unless neither is
    std::int64_t ranks{1};
    bool bias{};
    Module module{Module::other};
    double kept{};
    double operator_share{0.5};  ///< every second product
    std::optional<OffloadModule> feeds{};
  };

  [[nodiscard]] Split split_outputs() const {
    return {.ranks = setting_.tp, .bias = model_.linear_bias};
  }
  [[nodiscard]] Split split_inputs() const {
    return {.inputs = true, .ranks = setting_.tp, .bias = model_.linear_bias};
  }

  void tell_linear(std::string_view name, std::int64_t rows, std::int64_t outputs,
                   std::int64_t inputs, const Split& split) {
    const std::int64_t outputs_here = split.inputs ? outputs : outputs / split.ranks;
    const std::int64_t inputs_here = split.inputs ? inputs / split.ranks : inputs;
    tell_weight_cast(real(outputs_here * inputs_here), split.module, split.operator_share);
    layer_.pieces.push_back({name,
                             LinearLayer{rows, outputs_here, inputs_here, setting_.products, 0},
                             split.module, linear_parameters(outputs, inputs, split.bias), false,
                             split.kept, split.operator_share, split.feeds});
  }

  /// Weights of the product that follows, where each pass casts them: once for its forward product,
  /// and once in the order in which the input's gradient needs them. Those that were gathered in
  /// their format need no cast.
  void tell_weight_cast(double weights, Module module, double operator_share) {
    const bool cast = is_quantized(setting_.products) && software_.kernels.casts_weights;
    if (!cast || setting_.gathers_cast) return;
    layer_.pieces.push_back({.name = "weight casts",
                             .what = Casts{weights, weights, setting_.casts, false},
                             .module = module,
                             .operator_share = operator_share});
  }

  /// Pointwise kernels over the hidden states: `forward` and `backward` in passes over them (a
  /// pass is one read or write of every element).
  void tell_pointwise(std::string_view name, Module module, double forward, double backward,
                      double ranks, double kept = 0, std::int64_t parameters = 0) {
    const double pass = token_bytes_ / ranks * software_.kernels.pointwise_traffic_factor;
    layer_.pieces.push_back(
        {name, PointwiseKernels{StreamKind::fused_pointwise, forward * pass, backward * pass},
         module, parameters, false, kept});
  }

  /// Casts of activations forward and of gradients backward, in elements.
  void tell_cast(std::string_view name, Module module, double forward, double backward) {
    if (!is_quantized(setting_.products)) return;
    layer_.pieces.push_back({name, Casts{forward, backward, setting_.casts}, module});
  }

  void tell_collective(std::string_view name, GroupAxis axis, double bytes,
                       std::optional<CollectiveOp> forward, std::optional<CollectiveOp> backward) {
    LayerPiece piece{name, LayerCollective{axis, {bytes}, forward, backward}};
    if (forward == CollectiveOp::reduce_scatter) piece.operator_share = 0;
    layer_.pieces.push_back(piece);
  }

  /// Norms read and write once forward; backward two kernels make five passes. What products read
  /// is written in their format.
  void tell_norm() {
    const auto ranks = real(setting_.token_split());
    const double norms = model_.post_norms ? 2 : 1;
    const double kept_split = software_.memory.keeps_gathers ? 1 : ranks;
    tell_pointwise("norm", Module::norm, 2 * norms, 5 * norms, ranks,
                   token_bytes_ / element_ * operand_ / kept_split,
                   static_cast<std::int64_t>(norms) * norm_parameters(model_));
  }

  /// The sum with what came in: three passes, and with dropout a mask of one byte, half a pass.
  /// The sum behind the MLP is the next layer's input.
  void tell_residual() {
    const auto ranks = real(setting_.token_split());
    const double mask = model_.dropout ? token_bytes_ / element_ / ranks : 0;
    const double passes = model_.dropout ? 3.5 : 3;
    const bool last = ++residuals_ == (model_.parallel_block ? 1 : 2);
    tell_pointwise("residual", Module::other, passes, passes, ranks,
                   mask + (last ? 0 : token_bytes_ / ranks));
  }

  /// The fourth product, after queries, keys and values.
  void tell_projection() {
    Split split = split_inputs();
    split.operator_share = 1;
    tell_linear("projection", tokens_, model_.hidden, model_.attention_width(), split);
  }

  void tell_qkv() {
    const auto tp = real(setting_.tp);
    const double elements = real(tokens_ * model_.qkv_width()) / tp;
    Split split = split_outputs();
    split.bias = model_.qkv_bias;
    split.kept = elements * element_;
    split.feeds = OffloadModule::core_attn;
    // Queries, keys and values are a product each; every second one is that of keys.
    const double keys = real(model_.kv_heads * model_.head_dim);
    split.operator_share = keys / real(model_.qkv_width());
    tell_linear("qkv", tokens_, model_.qkv_width(), model_.hidden, split);
    tell_cast("qkv cast", Module::other, 0, elements);
    // Splitting into heads and merging; rotary positions read and write all once more.
    const double width = real(model_.qkv_width()) / real(model_.hidden);
    const double passes = model_.position == PositionEmbedding::rope ? 2 * width : width;
    const double part =
        real((model_.heads + model_.kv_heads) * model_.head_dim) / real(model_.hidden);
    const bool copied = model_.position == PositionEmbedding::rope && software_.memory.keeps_copies;
    tell_pointwise("heads", Module::other, passes, passes + 1, tp,
                   copied ? part * token_bytes_ / tp : 0);
    if (model_.qk_norm) {
      tell_pointwise("query and key norms", Module::norm, 2 * part, 5 * part, tp,
                     part * token_bytes_ / tp, 2 * model_.head_dim);
    }
  }

  /// Down to the latent vectors, and up to heads again (arXiv 2405.04434, section 2.1).
  void tell_latent_projections() {
    const LatentAttention& latent = model_.latent;
    const auto tp = real(setting_.tp);
    const std::int64_t queries = model_.heads * model_.key_dim();
    const std::int64_t down = latent.q_rank + latent.kv_rank + latent.rope;
    const std::int64_t up = model_.heads * (latent.nope + latent.value);
    const auto bytes = [&](std::int64_t width) { return real(tokens_ * width) * element_; };
    const Split whole{};
    Split heads{.ranks = setting_.tp,
                .module = Module::mla_up_projection,
                .feeds = OffloadModule::core_attn};

    Split narrow = whole;
    narrow.kept = bytes(2 * latent.kv_rank + latent.rope);  // before its norm and behind
    if (latent.q_rank > 0) {
      Split query = whole;
      query.kept = bytes(2 * latent.q_rank);
      tell_linear("q down", tokens_, latent.q_rank, model_.hidden, query);
      heads.kept = bytes(queries) / tp;
      tell_linear("q up", tokens_, queries, latent.q_rank, heads);
    } else {
      heads.kept = bytes(queries) / tp;
      tell_linear("q", tokens_, queries, model_.hidden, heads);
    }
    tell_linear("kv down", tokens_, latent.kv_rank + latent.rope, model_.hidden, narrow);
    // Keys get the part with positions of all heads; values are a part of what comes up.
    heads.kept = bytes(model_.heads * model_.key_dim() + up) / tp;
    tell_linear("kv up", tokens_, up, latent.kv_rank, heads);
    tell_cast("latent casts", Module::other, real(tokens_ * (latent.q_rank + latent.kv_rank)),
              real(tokens_) * (real(down) + real(queries + up) / tp));
    // Norms of the narrow vectors; queries, keys and values to heads, keys repeated.
    const double of_hidden = 1.0 / real(model_.hidden);
    const double norms = 2 * real(latent.q_rank + latent.kv_rank) * of_hidden;
    tell_pointwise("latent norms", Module::norm, norms, 2.5 * norms, 1, 0,
                   latent.q_rank + latent.kv_rank);
    const double copies = (4 * real(queries) + 2 * real(model_.heads * latent.value)) * of_hidden;
    tell_pointwise("heads", Module::mla_up_projection, copies, copies, tp);
  }

  /// What selective recompute repeats: scores, softmax, dropout, context.
  void tell_attention_core() {
    const auto cp = real(setting_.cp);
    const std::int64_t heads = model_.heads / setting_.tp;
    const std::int64_t kv_heads = std::max<std::int64_t>(1, model_.kv_heads / setting_.tp);
    AttentionCore core;
    core.kind = setting_.attention;
    core.shape = {setting_.mbs, setting_.seq_len / setting_.cp, heads, kv_heads, model_.key_dim()};
    core.shape.value_dim = model_.value_dim();
    core.shape.kv_seq = setting_.seq_len;
    core.shape.window = kind_.span == AttentionSpan::window ? model_.window : 0;
    core.shape.chunk = kind_.span == AttentionSpan::chunk ? model_.chunk : 0;
    core.shape.precision = setting_.precision;
    const double scores =
        real(setting_.mbs * heads) * real(setting_.seq_len) * real(setting_.seq_len) / cp;
    double kept = 0;
    if (setting_.attention != AttentionKind::flash) {
      const ScoreTraffic& traffic = score_traffic(setting_, software_);
      core.score_forward_bytes = traffic.forward_bytes * scores;
      core.score_backward_bytes = traffic.backward_bytes * scores;
      if (model_.score_cap) {
        core.score_forward_bytes += kCapForward * element_ * scores;
        core.score_backward_bytes += kCapBackward * element_ * scores;
      }
      core.score_forward_time = traffic.forward_time * scores;
      core.score_backward_time = traffic.backward_time * scores;
      kept = (software_.memory.score_bytes + (model_.score_cap ? element_ : 0)) * scores;
    }
    tell_context_exchange();
    const std::int64_t sinks = model_.attention_sinks ? model_.heads : 0;
    if (kind_.span == AttentionSpan::window && sinks > 0 &&
        setting_.attention == AttentionKind::flash) {
      tell_sink_gradients(heads);
    }
    layer_.pieces.push_back({"attention", core, Module::core_attention, sinks, false, kept, 0});
    // The context is kept for the projection whether or not the core is repeated.
    const double context = real(tokens_ * model_.attention_width()) / real(setting_.tp);
    layer_.pieces.push_back({"context", PointwiseKernels{}, Module::other, 0, false,
                             context * context_bytes(), 0, OffloadModule::attn_proj});
    tell_cast("context cast", Module::other, context, real(tokens_ * model_.hidden));
  }

  [[nodiscard]] double context_bytes() const {
    if (software_.memory.context_bytes > 0) return software_.memory.context_bytes;
    const bool twice = setting_.attention == AttentionKind::flash && operand_ != element_;
    return operand_ + (twice ? element_ : 0);
  }

  /// What builds without a windowed kernel for sinks move beside it.
  void tell_sink_gradients(std::int64_t heads) {
    const double bytes = real(tokens_ * heads) * software_.kernels.sink_backward_bytes;
    if (bytes == 0) return;
    layer_.pieces.push_back({"sink gradients",
                             PointwiseKernels{StreamKind::fused_pointwise, 0, bytes},
                             Module::core_attention});
  }

  /// Keys and values of the other context ranks, or heads in exchange for tokens.
  void tell_context_exchange() {
    if (setting_.cp == 1) return;
    const auto tp = real(setting_.tp);
    const std::int64_t heads = std::max(model_.kv_heads, setting_.tp);
    const double widths = real(model_.key_dim() + model_.value_dim());
    const double kv = real(tokens_ * heads) * widths / tp * element_;
    switch (setting_.context_comm) {
      case ContextComm::p2p:
      case ContextComm::a2a_p2p:
        tell_context_ring(real(tokens_ * (ring_.whole_heads ? model_.heads : heads)) * widths / tp);
        break;
      case ContextComm::all_gather:
        tell_collective("context gather", GroupAxis::context, kv * real(setting_.cp),
                        CollectiveOp::all_gather, CollectiveOp::reduce_scatter);
        break;
      case ContextComm::a2a: {
        const double q_and_out = real(tokens_ * model_.heads) * widths / tp * element_;
        // Each rank gets a head of keys and values at least, if need be a copy.
        const double copies = std::max(1.0, tp * real(setting_.cp) / real(heads));
        tell_collective("context exchange", GroupAxis::context, copies * kv + q_and_out,
                        CollectiveOp::all_to_all, CollectiveOp::all_to_all);
        break;
      }
    }
  }

  /// `elements` of keys and values a step; and each step adds what it computed to what earlier ones
  /// did.
  void tell_context_ring(double elements) {
    const double gradient = ring_.gradient_bytes > 0 ? ring_.gradient_bytes : element_;
    layer_.pieces.push_back({"context ring",
                             KeyValueRing{{elements * element_}, {elements * gradient}},
                             Module::core_attention});
    const double results =
        real(tokens_ * model_.attention_width()) / real(setting_.tp) * real(setting_.cp);
    layer_.pieces.push_back(
        {"context merge",
         PointwiseKernels{StreamKind::fused_pointwise, ring_.forward_bytes * results,
                          ring_.backward_bytes * results},
         Module::core_attention});
  }

  /// With sequence parallelism what weight gradients read is gathered once more, where the stack
  /// knows how beside the dgrad of the same layer (arXiv 2205.05198, section 4.2.2).
  void tell_input_gather() {
    if (setting_.tp == 1 || !setting_.sequence_parallel || software_.memory.keeps_gathers) return;
    layer_.pieces.push_back(
        {"input all-gather", LayerCollective{GroupAxis::tensor,
                                             {gathered_bytes(1)},
                                             std::nullopt,
                                             CollectiveOp::all_gather,
                                             software_.communication.gathers_beside_dgrad}});
  }

  /// The collective that ends a tensor-parallel pair of products: one all-reduce, or with sequence
  /// parallelism a reduce-scatter here and an all-gather at the start of the next pair.
  void tell_tensor_sum(std::string_view name, bool scatter, bool gather) {
    if (setting_.tp == 1) return;
    using enum CollectiveOp;
    const GroupAxis axis = GroupAxis::tensor;
    if (!setting_.sequence_parallel) {
      if (scatter) tell_collective(name, axis, token_bytes_, all_reduce, all_reduce);
      return;
    }
    if (scatter) tell_scatter(name);
    if (gather) tell_gather(name);
  }

  /// Of what is gathered for a product; sums are scattered in the format of activations. Formats
  /// with a scale for each few elements have two `copies` of what two products read, by rows and by
  /// columns.
  [[nodiscard]] double gathered_bytes(int copies) const {
    if (!software_.communication.narrow_gathers) return token_bytes_;
    return std::min<double>(token_bytes_, copies * token_bytes_ / element_ * operand_);
  }

  /// Sums of a product that is split by its inputs. Backward both other products read the gathered
  /// gradient.
  void tell_scatter(std::string_view name) {
    const bool by_blocks =
        setting_.casts == CastRecipe::mxfp8 || setting_.casts == CastRecipe::nvfp4;
    tell_collective(name, GroupAxis::tensor, token_bytes_, CollectiveOp::reduce_scatter,
                    std::nullopt);
    tell_collective(name, GroupAxis::tensor, gathered_bytes(by_blocks ? 2 : 1), std::nullopt,
                    CollectiveOp::all_gather);
  }

  /// Inputs of a product that is split by its outputs.
  void tell_gather(std::string_view name) {
    tell_collective(name, GroupAxis::tensor, gathered_bytes(1), CollectiveOp::all_gather,
                    std::nullopt);
    tell_collective(name, GroupAxis::tensor, token_bytes_, std::nullopt,
                    CollectiveOp::reduce_scatter);
  }

  void tell_end_of_attention() { tell_tensor_sum("attention all-reduce", true, !kind_.experts); }

  void tell_activation(std::string_view name, Module module, double elements, double traffic_rows) {
    // One read and one write, of gated ones two reads; backward the gradient and both again.
    const bool gated = is_gated(model_.mlp);
    const double pass = traffic_rows * element_ * software_.kernels.pointwise_traffic_factor;
    layer_.pieces.push_back(
        {name,
         PointwiseKernels{StreamKind::fused_pointwise, (gated ? 3 : 2) * pass,
                          (gated ? 5 : 3) * pass},
         module, 0, false,
         elements * (operand_ + (gated && software_.memory.keeps_copies ? element_ : 0.0))});
  }

  /// Bytes of an element of an activation's input as it is kept; `repeated`: for its recompute.
  [[nodiscard]] double stored_bytes(bool repeated = false) const {
    const bool narrow =
        setting_.fp8_activation_store && (!repeated || software_.memory.narrow_recompute);
    return narrow ? bytes_per_element(Precision::fp8) : element_;
  }

  /// A cast of the activation's input, which is read and written in fp8, and back again.
  void tell_activation_store(Module module, double elements, bool repeated) {
    const double stored = stored_bytes(repeated);
    if (stored == element_) return;
    const double pass = elements * (element_ + stored) * software_.kernels.pointwise_traffic_factor;
    layer_.pieces.push_back(
        {"activation store", PointwiseKernels{StreamKind::fused_pointwise, pass, pass}, module});
  }

  void tell_mlp_of(std::string_view in, std::string_view out, std::int64_t inner, Module module) {
    const double inner_elements = real(tokens_ * inner) / real(setting_.tp);
    const double in_elements = real(tokens_ * model_.in_width(inner)) / real(setting_.tp);
    Split first = split_outputs();
    first.module = module;
    first.kept = in_elements * stored_bytes();
    // Of the gate, what it gates and the second product, every second one; of two, the second.
    first.operator_share = is_gated(model_.mlp) ? 0.5 : 0.0;
    tell_linear(in, tokens_, model_.in_width(inner), model_.hidden, first);
    tell_activation_store(module, in_elements, false);
    tell_activation("activation", module, inner_elements, inner_elements);
    tell_cast("mlp casts", module, inner_elements, in_elements + real(tokens_ * model_.hidden));
    Split second = split_inputs();
    second.module = module;
    second.operator_share = is_gated(model_.mlp) ? 0.0 : 1.0;
    tell_linear(out, tokens_, model_.hidden, inner, second);
  }

  /// What follows its last product is a sum, unless a norm or a dropout reads the result.
  void tell_mlp() {
    tell_mlp_of("mlp in", "mlp out", model_.ffn_hidden, Module::mlp);
    const bool sum_follows = !model_.post_norms && !model_.dropout;
    layer_.pieces.back().ends_layer = sum_follows;
    const std::size_t product = layer_.pieces.size();
    tell_tensor_sum("mlp all-reduce", true, true);
    for (std::size_t i = product; i < layer_.pieces.size(); ++i) {
      const auto& forward = std::get<LayerCollective>(layer_.pieces[i].what).forward;
      layer_.pieces[i].ends_layer = sum_follows && forward != CollectiveOp::all_gather;
    }
  }

  /// Router, dispatch, the experts' two products, combine; and the experts that all tokens pass.
  void tell_experts() {
    const Experts& experts = model_.experts;
    const double rows = expert_tokens_ * real(experts.top_k * setting_.etp);
    const double busy_rows = rows * setting_.imbalance;
    const double hidden = real(model_.hidden);
    const double tokens = real(shared_tokens_);

    layer_.pieces.push_back(
        {"router", LinearLayer{shared_tokens_, experts.count, model_.hidden, setting_.precision, 0},
         Module::experts, linear_parameters(experts.count, model_.hidden, model_.linear_bias),
         false, 9.0 * tokens * real(experts.count)});
    // Scores, softmax, top-k and the map of tokens to experts.
    const double routing = tokens * (hidden * element_ + 24.0 * real(experts.count));
    layer_.pieces.push_back(
        {"routing", PointwiseKernels{StreamKind::router, routing, 2 * routing}, Module::experts});
    tell_dispatch("dispatch", false);
    tell_expert_tensor_exchange("expert gather", busy_rows, CollectiveOp::all_gather);
    tell_permute("permute", busy_rows);
    tell_expert_products(busy_rows);
    tell_permute("unpermute", busy_rows);
    tell_expert_tensor_exchange("expert scatter", busy_rows, CollectiveOp::reduce_scatter);
    tell_dispatch("combine", true);
    if (experts.shared_hidden > 0) {
      const bool split = setting_.tp > 1 && setting_.sequence_parallel;
      if (split) tell_gather("shared experts gather");
      tell_mlp_of("shared experts in", "shared experts out", experts.shared_hidden,
                  Module::shared_experts);
      if (experts.shared_gate) layer_.pieces.back().parameters += model_.hidden;
      if (split) tell_scatter("shared experts scatter");
    }
    // Without sequence parallelism each tensor rank has the results of its part of the tokens, or a
    // part of each result.
    tell_tensor_sum("mlp all-reduce", !setting_.sequence_parallel, true);
  }

  /// Gathers the rows of all ranks that share an expert's columns, or scatters their sums. Without
  /// sequence parallelism every tensor rank has the tokens already, and the sum behind the experts
  /// is that of the whole layer.
  void tell_expert_tensor_exchange(std::string_view name, double rows, CollectiveOp forward) {
    if (setting_.etp == 1 || !setting_.sequence_parallel) return;
    const bool gathers = forward == CollectiveOp::all_gather;
    const Bytes bytes{rows * real(model_.hidden) * element_};
    layer_.pieces.push_back(
        {name,
         LayerCollective{GroupAxis::expert_tensor, bytes, forward,
                         gathers ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather},
         Module::experts});
  }

  void tell_dispatch(std::string_view name, bool combine) {
    if (setting_.ep == 1) return;
    const Experts& experts = model_.experts;
    Dispatch transfer;
    transfer.dispatcher = setting_.dispatcher;
    transfer.combine = combine;
    transfer.tokens = expert_tokens_ * setting_.imbalance;
    transfer.hidden = model_.hidden;
    transfer.precision = setting_.precision;
    transfer.top_k = experts.top_k;
    transfer.expert_groups = experts.groups;
    transfer.groups_chosen = experts.groups_chosen;
    layer_.pieces.push_back({name, TokenTransfer{transfer}, Module::experts});
  }

  /// A token is read once and written for each expert, or the other way round. What arrives by rank
  /// (dispatcher alltoall) is sorted by expert once more.
  void tell_permute(std::string_view name, double rows) {
    const double row_bytes = real(model_.hidden) * element_;
    const double copies = rows / real(model_.experts.top_k * setting_.etp);
    const bool by_rank = setting_.dispatcher == Dispatcher::alltoall && setting_.ep > 1 &&
                         setting_.ep < model_.experts.count;
    const double sorted = by_rank ? 2 * rows : 0.0;
    const double bytes =
        (rows + copies + sorted) * row_bytes * software_.kernels.permute_traffic_factor;
    layer_.pieces.push_back(
        {name, PointwiseKernels{StreamKind::permute, bytes, bytes}, Module::experts});
  }

  void tell_expert_products(double rows) {
    const Experts& experts = model_.experts;
    const std::int64_t local = experts.count / setting_.ep;
    const std::int64_t in_width = model_.in_width(experts.ffn_hidden) / setting_.etp;
    const std::int64_t inner = experts.ffn_hidden / setting_.etp;
    const auto whole_rows = static_cast<std::int64_t>(rows);
    const double hidden = real(model_.hidden);
    const auto add = [&](std::string_view name, std::int64_t outputs, std::int64_t inputs,
                         std::int64_t parameters, double kept) {
      tell_weight_cast(real(local * outputs * inputs), Module::experts, 1.0);
      layer_.pieces.push_back({name,
                               LinearLayer{whole_rows, outputs, inputs, setting_.products, local},
                               Module::experts, experts.count * parameters, true, kept});
      layer_.pieces.back().feeds = OffloadModule::moe_act;
    };
    // What a fused kernel reads and writes once, others do twice.
    const bool fused = software_.kernels.fused_experts && setting_.one_graph;
    const double passes = fused ? 0.5 : 1.0;
    tell_cast("expert casts", Module::experts, passes * rows * (hidden + real(inner)),
              passes * rows * (hidden + real(in_width)));
    // The dispatched tokens are the input, with the probabilities that scale them.
    layer_.pieces.push_back({"expert inputs", PointwiseKernels{}, Module::experts, 0, false,
                             rows * (hidden * operand_ + 8.0)});
    layer_.pieces.back().feeds = OffloadModule::expert_fc1;
    add("experts in", in_width, model_.hidden,
        linear_parameters(model_.in_width(experts.ffn_hidden), model_.hidden, model_.linear_bias),
        rows * real(in_width) * stored_bytes(setting_.repeats_expert_activation));
    tell_activation_store(Module::expert_activation, rows * real(in_width),
                          setting_.repeats_expert_activation);
    tell_activation("expert activation", Module::expert_activation, rows * real(inner),
                    passes * rows * real(inner));
    add("experts out", model_.hidden, inner,
        linear_parameters(model_.hidden, experts.ffn_hidden, model_.linear_bias), 0);
    if (model_.linear_bias) tell_expert_biases(rows * (real(in_width) + hidden));
  }

  /// Each expert has a bias of its own, which no kernel over all of them adds: results are read and
  /// written once more, and their gradients read and summed.
  void tell_expert_biases(double results) {
    const double pass = results * element_ * software_.kernels.pointwise_traffic_factor;
    layer_.pieces.push_back({"expert biases",
                             PointwiseKernels{StreamKind::fused_pointwise, 2 * pass, pass},
                             Module::experts});
  }

  const Transformer& model_;
  LayerKind kind_;
  const LayerSetting& setting_;
  const Software& software_;
  const ContextRingStack& ring_;
  std::int64_t tokens_;
  std::int64_t shared_tokens_;  ///< of the rank where tensor ranks share them
  /// A rank's part of the tokens that its tensor group has: experts get each token once, whether or
  /// not sequence parallelism splits what is around them.
  double expert_tokens_;
  double element_;      ///< bytes of an activation
  double operand_;      ///< bytes of an operand of products
  double token_bytes_;  ///< of the hidden states
  int residuals_{};
  Layer layer_;
};

}  // namespace

Layer tell_block(const Transformer& model, LayerKind kind, const LayerSetting& setting,
                 const Software& software) {
  return BlockTeller(model, kind, setting, software).tell();
}

}  // namespace prequel
