#include <algorithm>
#include <cmath>

#include "models/layers/layer_teller.hpp"

namespace prequel {
namespace {

/// Tells what works token by token.
class FeedTeller {
 public:
  explicit FeedTeller(LayerTeller& teller) : teller_(teller) {}

  /// A sum follows its last product, unless a norm or a dropout reads the result.
  void tell_mlp() {
    const bool sum_follows = !teller_.model.post_norms && !teller_.model.dropout;
    tell_mlp_of("mlp in", "mlp out", teller_.model.inner_of(teller_.kind), Module::mlp,
                sum_follows);
    teller_.tell_tensor_sum("mlp all-reduce", true, true, sum_follows);
  }

  /// Router, dispatch, the experts' two products, combine; and the experts that all tokens pass.
  void tell_experts() {
    const Experts& experts = teller_.model.experts;
    const double rows = expert_tokens() * (experts.working() * real(teller_.setting.etp));
    const double busy_rows = rows * teller_.setting.imbalance;
    const double hidden = real(teller_.model.hidden);
    const double tokens = real(teller_.shared_tokens);
    // Scores weigh what experts give also where the token's word, by a table, says which they are.
    const bool hashed = teller_.kind.feed == Feed::hashed_experts;
    const std::int64_t scored = experts.count + experts.zero;

    for (const std::int64_t adapted : teller_.adapters_of({{AdapterTarget::router, scored}})) {
      teller_.tell_adapter({.rows = teller_.shared_tokens,
                            .outputs = adapted,
                            .inputs = teller_.model.hidden,
                            .module = Module::experts});
    }
    teller_.tell({"router",
                  LinearLayer{teller_.shared_tokens, scored, teller_.model.hidden,
                              teller_.setting.precision, 0},
                  Module::experts,
                  linear_parameters(scored, teller_.model.hidden,
                                    teller_.model.linear_bias || (experts.router_bias && !hashed)),
                  false, 9.0 * tokens * real(scored)});
    // Scores, softmax, top-k and the map of tokens to experts.
    const double routing = tokens * (hidden * teller_.element + 24.0 * real(scored));
    teller_.tell(
        {"routing", PointwiseKernels{StreamKind::router, routing, 2 * routing}, Module::experts});
    if (experts.latent > 0) tell_latent("experts latent in", experts.latent, teller_.model.hidden);
    tell_dispatch("dispatch", false);
    tell_expert_tensor_exchange("expert gather", busy_rows, CollectiveOp::all_gather);
    tell_permute("permute", busy_rows);
    tell_expert_products(busy_rows);
    tell_permute("unpermute", busy_rows);
    tell_expert_tensor_exchange("expert scatter", busy_rows, CollectiveOp::reduce_scatter);
    tell_dispatch("combine", true);
    if (experts.latent > 0) tell_latent("experts latent out", teller_.model.hidden, experts.latent);
    if (experts.shared_hidden > 0) {
      const bool split = teller_.setting.tp > 1 && teller_.setting.sequence_parallel;
      if (split) teller_.tell_gather("shared experts gather");
      tell_mlp_of("shared experts in", "shared experts out", experts.shared_hidden,
                  Module::shared_experts, false, experts.shared_gate ? teller_.model.hidden : 0);
      if (split) teller_.tell_scatter("shared experts scatter");
    }
    // Without sequence parallelism each tensor rank has the results of its part of the tokens, or a
    // part of each result.
    teller_.tell_tensor_sum("mlp all-reduce", !teller_.setting.sequence_parallel, true);
  }

 private:
  [[nodiscard]] bool keeps_gate() const {
    return teller_.keeps(KeptCopy::rotated) ||
           (teller_.software.memory.norm_copy_bytes > 0 &&
            !teller_.software.kernels.fuses(teller_.setting.compiled));
  }

  /// A rank's part of the tokens that its tensor group has: experts get each token once, whether or
  /// not sequence parallelism splits what is around them.
  [[nodiscard]] double expert_tokens() const {
    return real(teller_.tokens) / real(teller_.setting.tp);
  }

  /// Gathers the rows of all ranks that share an expert's columns, or scatters their sums. Without
  /// sequence parallelism every tensor rank has the tokens already, and the sum behind the experts
  /// is that of the whole layer.
  void tell_expert_tensor_exchange(std::string_view name, double rows, CollectiveOp forward) {
    if (teller_.setting.etp == 1 || !teller_.setting.sequence_parallel) return;
    const bool gathers = forward == CollectiveOp::all_gather;
    const Bytes bytes{rows * real(teller_.model.expert_width()) * teller_.element};
    teller_.tell(
        {name,
         LayerCollective{GroupAxis::expert_tensor, bytes, forward,
                         gathers ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather},
         Module::experts});
  }

  void tell_activation(std::string_view name, Module module, double elements, double traffic_rows,
                       bool is_kept) {
    // One read and one write, of gated ones two reads; backward the gradient and both again.
    const bool gated = is_gated(teller_.model.mlp);
    const double traffic = teller_.software.kernels.pointwise_traffic(teller_.setting.compiled);
    const double pass = traffic_rows * teller_.element * traffic;
    teller_.tell({name,
                  PointwiseKernels{StreamKind::fused_pointwise, (gated ? 3 : 2) * pass,
                                   (gated ? 5 : 3) * pass, LayerTeller::handed_share(traffic),
                                   traffic_rows * teller_.element},
                  module, 0, false,
                  elements * ((is_kept ? teller_.operand : 0.0) +
                              (gated && keeps_gate() ? teller_.element : 0.0))});
  }

  /// Bytes of an element of an activation's input as it is kept; `repeated`: for its recompute.
  /// Megatron-Core's checkpoints start from the whole one, which is then kept. A stack that stores
  /// inputs by default repeats from what it stored (DeepSeek's, arXiv 2412.19437, section 3.3.3).
  [[nodiscard]] double stored_bytes(bool repeated = false) const {
    const bool whole = repeated && !teller_.software.defaults.fp8_activation_store.value_or(false);
    const bool narrow = teller_.setting.fp8_activation_store && !whole;
    return narrow ? bytes_per_element(Precision::fp8) : teller_.element;
  }

  /// A cast of the activation's input, which is read and written in fp8, and back again.
  void tell_activation_store(Module module, double elements, bool repeated) {
    const double stored = stored_bytes(repeated);
    if (stored == teller_.element) return;
    const double pass = elements * (teller_.element + stored) *
                        teller_.software.kernels.pointwise_traffic(teller_.setting.compiled);
    teller_.tell(
        {"activation store", PointwiseKernels{StreamKind::fused_pointwise, pass, pass}, module});
  }

  void tell_mlp_of(std::string_view in, std::string_view out, std::int64_t inner, Module module,
                   bool ends_layer = false, std::int64_t more_parameters = 0) {
    const double inner_elements = real(teller_.tokens * inner) / real(teller_.setting.tp);
    const double in_elements =
        real(teller_.tokens * teller_.model.in_width(inner)) / real(teller_.setting.tp);
    LayerTeller::Split first = teller_.split_outputs();
    first.module = module == Module::mlp ? Module::mlp_in : module;
    first.kept = in_elements * stored_bytes();
    // `operators` repeats every second product: the up-projection of a gated MLP, or the second of
    // two.
    first.operator_share = is_gated(teller_.model.mlp) ? 0.5 : 0.0;
    using enum AdapterTarget;
    first.adapters = is_gated(teller_.model.mlp)
                         ? teller_.adapters_of({{gate, inner}, {up, inner}}, gate_up, 2 * inner)
                         : teller_.adapters_of({{up, inner}}, gate_up, inner);
    teller_.tell_linear(in, teller_.tokens, teller_.model.in_width(inner), teller_.model.hidden,
                        first);
    tell_activation_store(module, in_elements, false);
    tell_activation("activation", module, inner_elements, inner_elements,
                    teller_.keeps_input_of({AdapterTarget::down}));
    // Inputs of shared experts are routed, too, so that the norm gives them in 16 bits.
    const double read =
        module == Module::shared_experts ? real(teller_.shared_tokens * teller_.model.hidden) : 0.0;
    teller_.tell_cast("mlp casts", module, read + inner_elements,
                      in_elements + real(teller_.tokens * teller_.model.hidden));
    LayerTeller::Split second = teller_.split_inputs();
    second.module = module == Module::mlp ? Module::mlp_out : module;
    second.operator_share = is_gated(teller_.model.mlp) ? 0.0 : 1.0;
    second.ends_layer = ends_layer;
    second.adapters = teller_.adapters_of({{AdapterTarget::down, teller_.model.hidden}});
    second.more_parameters = more_parameters;
    teller_.tell_linear(out, teller_.tokens, teller_.model.hidden, inner, second);
  }

  /// To the width that routed experts work on, and back: whole on every tensor rank.
  void tell_latent(std::string_view name, std::int64_t outputs, std::int64_t inputs) {
    LayerTeller::Split whole{.module = Module::experts};
    whole.kept = real(teller_.shared_tokens * inputs) * teller_.operand;
    const bool normed = teller_.model.experts.latent_norm && outputs < inputs;
    whole.more_parameters = normed ? outputs : 0;
    teller_.tell_cast("latent casts", Module::experts, real(teller_.shared_tokens * inputs),
                      real(teller_.shared_tokens * outputs));
    teller_.tell_linear(name, teller_.shared_tokens, outputs, inputs, whole);
  }

  void tell_dispatch(std::string_view name, bool combine) {
    if (teller_.setting.ep == 1) return;
    const Experts& experts = teller_.model.experts;
    Dispatch transfer;
    transfer.dispatcher = teller_.setting.dispatcher;
    transfer.combine = combine;
    transfer.tokens = expert_tokens() * teller_.setting.imbalance;
    transfer.hidden = teller_.model.expert_width();
    transfer.precision = teller_.setting.precision;
    transfer.top_k = std::max<std::int64_t>(1, std::llround(experts.working()));
    transfer.experts = experts.count;
    transfer.expert_groups = experts.groups;
    transfer.groups_chosen = experts.groups_chosen;
    teller_.tell({name, TokenTransfer{transfer, teller_.setting.to_experts}, Module::experts});
  }

  /// A token is read once and written for each expert, or the other way round. Tokens that arrive
  /// by rank (dispatcher alltoall) are sorted by expert once more.
  void tell_permute(std::string_view name, double rows) {
    const double row_bytes = real(teller_.model.expert_width()) * teller_.element;
    const double copies = rows / (teller_.model.experts.working() * real(teller_.setting.etp));
    const bool by_rank = teller_.setting.dispatcher == Dispatcher::alltoall &&
                         teller_.setting.ep > 1 && teller_.setting.ep < teller_.model.experts.count;
    const double sorted = by_rank ? 2 * rows : 0.0;
    // Separate kernels permute tokens that are padded to a capacity.
    const double kernels =
        teller_.setting.fixed_capacity ? teller_.software.common.padded_permute : 1.0;
    const double bytes = (rows + copies + sorted) * row_bytes * kernels;
    teller_.tell({name, PointwiseKernels{StreamKind::permute, bytes, bytes}, Module::experts});
  }

  void tell_expert_products(double rows) {
    const Experts& experts = teller_.model.experts;
    const std::int64_t width = teller_.model.expert_width();
    const std::int64_t local = experts.count / teller_.setting.ep;
    const std::int64_t in_width = teller_.model.in_width(experts.ffn_hidden) / teller_.setting.etp;
    const std::int64_t inner = experts.ffn_hidden / teller_.setting.etp;
    const auto whole_rows = static_cast<std::int64_t>(rows);
    const double hidden = real(width);
    const auto add = [&](std::string_view name, std::int64_t outputs, std::int64_t inputs,
                         std::int64_t parameters, double kept) {
      teller_.tell_weight_cast(real(local * outputs * inputs), Module::experts, 1.0);
      teller_.tell({name, LinearLayer{whole_rows, outputs, inputs, teller_.setting.products, local},
                    Module::experts, experts.count * parameters, true, kept, 1,
                    OffloadModule::moe_act});
    };
    // Separate kernels read and write twice what a fused one does once.
    const bool fused =
        teller_.software.kernels.fused_experts && teller_.setting.graphs.has(GraphedModule::full);
    const double passes = fused ? 0.5 : 1.0;
    // Tokens that travel in 8 bits are cast once, before they are copied for their experts.
    const bool travel_cast = teller_.setting.ep > 1 && is_quantized(teller_.setting.to_experts);
    const double arrive = travel_cast ? expert_tokens() * teller_.setting.imbalance : passes * rows;
    teller_.tell_cast("expert casts", Module::experts,
                      arrive * hidden + passes * rows * real(inner),
                      arrive * hidden + passes * rows * real(in_width));
    const bool reads_input = teller_.keeps_input_of({AdapterTarget::experts});
    const auto adapt = [&](std::int64_t outputs, std::int64_t inputs, bool splits_inputs) {
      for (const std::int64_t adapted : teller_.adapters_of({{AdapterTarget::experts, outputs}})) {
        teller_.tell_adapter({whole_rows, adapted, inputs, splits_inputs, teller_.setting.etp,
                              Module::experts, local, experts.count});
      }
    };
    adapt(experts.ffn_hidden, width, false);
    if (is_gated(teller_.model.mlp)) adapt(experts.ffn_hidden, width, false);
    // The dispatched tokens are the input, with the probabilities that scale them.
    teller_.tell({"expert inputs", PointwiseKernels{}, Module::experts, 0, false,
                  rows * ((reads_input ? hidden * teller_.operand : 0.0) + 8.0), 1,
                  OffloadModule::expert_fc1});
    add("experts in", in_width, width,
        linear_parameters(teller_.model.in_width(experts.ffn_hidden), width,
                          teller_.model.linear_bias),
        rows * real(in_width) * stored_bytes(teller_.setting.repeats_expert_activation));
    tell_activation_store(Module::expert_activation, rows * real(in_width),
                          teller_.setting.repeats_expert_activation);
    tell_activation("expert activation", Module::expert_activation, rows * real(inner),
                    passes * rows * real(inner), reads_input);
    // Where no kernel scales and activates at once, both results are kept.
    if (teller_.model.mlp == Mlp::gelu && reads_input) {
      teller_.tell({"expert scales", PointwiseKernels{}, Module::expert_activation, 0, false,
                    rows * real(inner) * teller_.element});
    }
    adapt(width, experts.ffn_hidden, true);
    add("experts out", width, inner,
        linear_parameters(width, experts.ffn_hidden, teller_.model.linear_bias), 0);
    if (teller_.model.linear_bias) tell_expert_biases(rows * (real(in_width) + hidden));
  }

  /// Each expert has a bias of its own, which no kernel over all of them adds: results are read and
  /// written once more, and their gradients read and summed.
  void tell_expert_biases(double results) {
    const double pass = results * teller_.element *
                        teller_.software.kernels.pointwise_traffic(teller_.setting.compiled);
    teller_.tell({"expert biases", PointwiseKernels{StreamKind::fused_pointwise, 2 * pass, pass},
                  Module::experts});
  }

  LayerTeller& teller_;
};

}  // namespace

void tell_mlp(LayerTeller& teller) {
  FeedTeller(teller).tell_mlp();
}

void tell_experts(LayerTeller& teller) {
  FeedTeller(teller).tell_experts();
}

}  // namespace prequel
