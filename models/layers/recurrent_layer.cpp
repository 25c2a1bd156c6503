#include <algorithm>

#include "models/layers/layer_teller.hpp"

namespace prequel {
namespace {

/// Tells layers whose mixer goes along the sequence with a state.
class RecurrentTeller {
 public:
  explicit RecurrentTeller(LayerTeller& teller)
      : teller_(teller),
        model_(teller.model),
        tp_(real(teller.setting.tp)),
        tokens_(real(teller.tokens)) {}

  /// Mamba-2 (megatron/core/ssm/mamba_mixer.py): one projection to gate, inputs, B, C and time
  /// steps; convolution, scan and norm, whose backward pass computes all but these again.
  void tell_state_space() {
    const StateSpace& shape = model_.state_space;
    const std::int64_t inner = shape.inner();
    const std::int64_t ranks = teller_.setting.tp * teller_.setting.cp;
    // Context ranks beyond the groups of states have copies of these.
    const double copies = std::max(1.0, real(ranks) / real(shape.groups));
    tell_in("in projection", shape.in_width(), 0);
    tell_reorder(real(shape.in_width()), 1);
    tell_exchange(real(2 * inner + shape.heads) + 2 * copies * real(shape.groups * shape.state));
    // Its backward pass computes it again, as its results are not kept.
    tell_convolution(shape.conv_width(), shape.conv, true, 0, 4);
    if (shape.is_selective()) tell_time_steps();
    Scan scan = scan_of(ScanKind::ssd, shape.heads, shape.groups, shape.state, shape.head_dim);
    scan.chunk = shape.chunk;
    if (shape.is_selective()) scan.kind = ScanKind::selective;
    const std::int64_t own = shape.is_selective() ? inner * shape.state + inner : 3 * shape.heads;
    tell_scan(scan, own, inner);
    tell_reorder(real(inner), 1);
    tell_exchange(real(inner));
    // The gate multiplies in either case; its norm keeps what it reads.
    const std::int64_t norm = shape.gated_norm && !shape.is_selective() ? inner : 0;
    tell_gated_norm(inner, norm, norm > 0 ? 2 : 1);
    tell_out(inner);
  }

  /// A gated delta net (megatron/core/ssm/gated_delta_net.py).
  void tell_delta_net() {
    const LinearAttention& shape = model_.linear_attention;
    const std::int64_t all = 2 * shape.keys() + 2 * shape.values() + 2 * shape.value_heads;
    tell_in("in projection", all, 0);
    tell_exchange(real(all));
    const std::int64_t channels = 2 * shape.keys() + shape.values();
    tell_reorder(real(channels), 2);
    tell_convolution(channels, shape.conv, false, 2 * real(channels));
    // Norms of queries and keys, which are then copied for each head of values; two gates a head.
    const double repeated = 2 * real(shape.value_heads * shape.key_dim);
    const double heads = real(shape.value_heads);
    tell_elements("query and key norms", 2 * real(shape.keys()) + repeated, 2.5,
                  2 * repeated + 2 * real(shape.values()) + 6 * heads, 2 * shape.value_heads);
    const Scan scan =
        scan_of(ScanKind::gdn, shape.value_heads, shape.key_heads, shape.key_dim, shape.value_dim);
    tell_scan(scan, 0, shape.values(), 2 * real(scan.chunk * shape.value_heads));
    tell_gated_norm(shape.values(), shape.value_dim, 1);
    tell_exchange(real(shape.values()));
    tell_out(shape.values());
  }

  /// Kimi delta attention: projections apart, a decay a channel in fp32, and a gate that is of low
  /// rank or whole (arXiv 2510.26692).
  void tell_kimi_delta() {
    const LinearAttention& shape = model_.linear_attention;
    const std::int64_t keys = shape.keys();
    const std::int64_t values = shape.values();
    tell_in("qkv", 2 * keys + values, 0);
    const std::int64_t gate = shape.full_rank_gate ? values : shape.value_dim;
    tell_in("decay and gate down", shape.value_heads + shape.key_dim + gate, 0);
    tell_up("decay up", keys, shape.key_dim, 2);
    if (!shape.full_rank_gate) tell_up("gate up", values, shape.value_dim, 1);
    tell_exchange(real(3 * keys + 2 * values + shape.value_heads));
    tell_convolution(2 * keys + values, shape.conv, false, 2 * real(2 * keys + values));
    tell_elements("query and key norms", 4 * real(keys), 2.5,
                  4 * real(keys) + 2 * real(values) + 6 * real(shape.value_heads),
                  keys + shape.value_heads);
    const Scan scan =
        scan_of(ScanKind::kda, shape.value_heads, shape.key_heads, shape.key_dim, shape.value_dim);
    tell_scan(scan, 0, values, 2 * real(scan.chunk * shape.value_heads));
    tell_gated_norm(values, shape.value_dim, 1);
    tell_exchange(real(values));
    tell_out(values);
  }

  /// Lightning attention (MiniMax-01, arXiv 2501.08313): a fixed decay a head, no convolution.
  void tell_lightning() {
    const LinearAttention& shape = model_.linear_attention;
    const std::int64_t all = 2 * shape.keys() + 2 * shape.values();
    tell_in("in projection", all, 0);
    tell_exchange(real(all));
    tell_elements("activation", 4 * real(shape.keys()), 1.5,
                  2 * real(2 * shape.keys() + shape.values()), 0);
    const Scan scan = scan_of(ScanKind::lightning, shape.value_heads, shape.key_heads,
                              shape.key_dim, shape.value_dim);
    tell_scan(scan, 0, shape.values());
    tell_gated_norm(shape.values(), shape.values(), 1);
    tell_exchange(real(shape.values()));
    tell_out(shape.values());
  }

  /// A convolution of a few tokens between two gates, all of one product (LFM2): one gate before
  /// it, whose result is kept as the convolution's own is, one behind.
  void tell_short_convolution() {
    const std::int64_t width = model_.hidden;
    tell_in("in projection", 3 * width, 0);
    tell_exchange(3 * real(width));
    tell_elements("gates", 6 * real(width), 5.0 / 3, 2 * real(width), 0);
    tell_convolution(width, model_.short_conv, false, 2 * real(width));
    tell_exchange(real(width));
    teller_.tell({"context", PointwiseKernels{}, Module::other, 0, false,
                  tokens_ * real(width) / tp_ * teller_.operand, 0, OffloadModule::attn_proj});
    tell_out(width);
  }

 private:
  [[nodiscard]] LayerTeller::Split split(bool inputs) const {
    return {.inputs = inputs, .ranks = teller_.setting.tp};
  }

  void tell_in(std::string_view name, std::int64_t outputs, std::int64_t more_parameters) {
    LayerTeller::Split first = split(false);
    first.kept = tokens_ * real(outputs) / tp_ * teller_.element;
    first.feeds = OffloadModule::core_attn;
    first.more_parameters = more_parameters;
    teller_.tell_linear(name, teller_.tokens, outputs, model_.hidden, first);
    teller_.tell_cast("mixer casts", Module::other, 0, tokens_ * real(outputs) / tp_);
  }

  /// From a low rank to all channels, whose results are kept in `words` of two bytes.
  void tell_up(std::string_view name, std::int64_t outputs, std::int64_t rank, double words) {
    LayerTeller::Split up = split(false);
    up.kept = tokens_ * real(outputs) / tp_ * words * teller_.element;
    teller_.tell_linear(name, teller_.tokens, outputs, rank, up);
  }

  /// Mamba-1's time steps, B and C of the inputs, with a norm each (Jamba).
  void tell_time_steps() {
    const StateSpace& shape = model_.state_space;
    const std::int64_t narrow = shape.dt_rank + 2 * shape.state;
    LayerTeller::Split down = split(true);
    down.more_parameters = narrow;
    down.kept = tokens_ * real(narrow) * teller_.element;
    teller_.tell_linear("time steps down", teller_.tokens, narrow, shape.inner(), down);
    LayerTeller::Split up = split(false);
    up.more_parameters = shape.inner();
    up.kept = tokens_ * real(shape.inner()) / tp_ * teller_.element;
    teller_.tell_linear("time steps up", teller_.tokens, shape.inner(), shape.dt_rank, up);
  }

  void tell_out(std::int64_t inputs) {
    LayerTeller::Split last = split(true);
    last.operator_share = 1;
    teller_.tell_cast("context cast", Module::other, tokens_ * real(inputs) / tp_,
                      tokens_ * real(model_.hidden));
    teller_.tell_linear("projection", teller_.tokens, model_.hidden, inputs, last);
  }

  /// Transformer Engine's layers have tokens of all sequences beside each other and scans want
  /// sequences one by one: copies where there are several. Megatron's gated delta net brings
  /// channels together for the convolution and apart again in any case (two `copies`).
  void tell_reorder(double width, int copies) {
    const bool ordered = copies == 1 && teller_.setting.mbs == 1;
    if (ordered || !teller_.software.kernels.transformer_engine) return;
    tell_elements("token order", 2 * copies * width, 1, 0, 0);
  }

  /// Four bytes an element and channel; backward `factor` times that: inputs again, gradients.
  void tell_convolution(std::int64_t channels, std::int64_t width, bool bias, double kept,
                        double factor = 3) {
    if (width == 0) return;
    const double bytes = 2 * tokens_ * real(channels) / tp_ * teller_.element;
    teller_.tell({"convolution", PointwiseKernels{StreamKind::convolution, bytes, factor * bytes},
                  Module::other, channels * (width + (bias ? 1 : 0)), false, tokens_ * kept / tp_});
  }

  /// Reads and writes of so many elements a token, backward `factor` times that; keeps `bytes`.
  void tell_elements(std::string_view name, double elements, double factor, double bytes,
                     std::int64_t parameters) {
    const double pass = tokens_ * elements / tp_ * teller_.element *
                        teller_.software.kernels.pointwise_traffic(teller_.setting.compiled);
    teller_.tell({name, PointwiseKernels{StreamKind::fused_pointwise, pass, factor * pass},
                  Module::other, parameters, false, tokens_ * bytes / tp_});
  }

  [[nodiscard]] Scan scan_of(ScanKind kind, std::int64_t heads, std::int64_t key_heads,
                             std::int64_t key_dim, std::int64_t value_dim) const {
    // Heads are split over tensor and context ranks: each has whole sequences.
    const std::int64_t ranks = teller_.setting.tp * teller_.setting.cp;
    Scan scan{kind, teller_.setting.mbs, teller_.setting.seq_len};
    scan.heads = std::max<std::int64_t>(1, heads / ranks);
    scan.key_heads = std::max<std::int64_t>(1, key_heads / ranks);
    scan.key_dim = key_dim;
    scan.value_dim = value_dim;
    return scan;
  }

  /// Keeps its results, and `more` bytes a token.
  void tell_scan(const Scan& scan, std::int64_t parameters, std::int64_t results, double more = 0) {
    const double kept = tokens_ * (real(results) * teller_.element + more) / tp_;
    teller_.tell({"scan", scan, Module::other, parameters, false, kept});
  }

  /// A norm times an activation of the gate: results and gate are read, one is written; what it
  /// reads is kept `copies` - 1 times more, and what it gives for the projection.
  void tell_gated_norm(std::int64_t width, std::int64_t parameters, double copies) {
    const double elements = tokens_ * real(width) / tp_;
    const double pass = elements * teller_.element *
                        teller_.software.kernels.pointwise_traffic(teller_.setting.compiled);
    teller_.tell({"gated norm", PointwiseKernels{StreamKind::fused_pointwise, 3 * pass, 6 * pass},
                  Module::mixer_norm, parameters, false,
                  elements * ((copies - 1) * teller_.element + teller_.operand), 0,
                  OffloadModule::attn_proj});
  }

  /// Tokens for heads among context ranks, `width` elements a token, and back.
  void tell_exchange(double width) {
    if (teller_.setting.cp == 1) return;
    teller_.tell_collective("context exchange", GroupAxis::context,
                            tokens_ * width / tp_ * teller_.element, CollectiveOp::all_to_all,
                            CollectiveOp::all_to_all);
  }

  LayerTeller& teller_;
  const Transformer& model_;
  double tp_;
  double tokens_;  ///< of the rank
};

}  // namespace

void tell_state_space(LayerTeller& teller) {
  RecurrentTeller(teller).tell_state_space();
}

void tell_linear_attention(LayerTeller& teller) {
  RecurrentTeller recurrent(teller);
  switch (teller.kind.mixer) {
    case Mixer::kimi_delta: return recurrent.tell_kimi_delta();
    case Mixer::lightning: return recurrent.tell_lightning();
    case Mixer::short_conv: return recurrent.tell_short_convolution();
    default: return recurrent.tell_delta_net();
  }
}

}  // namespace prequel
