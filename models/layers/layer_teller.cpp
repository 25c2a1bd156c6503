#include "models/layers/layer_teller.hpp"

#include <algorithm>

namespace prequel {
namespace {

constexpr double kWideCopy = 4;  // bytes of an element in fp32

}  // namespace

GraphCopies graph_copies(const Transformer& model, LayerKind kind, WordSet<GraphedModule> graphs) {
  using enum GraphedModule;
  if (graphs.has(full)) return {};
  const GraphedModule of_mixer = is_softmax(kind.mixer) ? attn : mamba;
  const bool mixes = kind.mixer != Mixer::none && graphs.has(of_mixer);
  const bool feeds = kind.feed != Feed::none && graphs.has(kind.has_experts() ? moe : mlp);
  const bool routes = kind.has_experts() && graphs.has(moe_router) && !feeds;
  if (!mixes && !feeds && !routes) return {};
  // A router's graph gives the sum so far, what the norm gives and what shared experts give.
  return {1, routes ? (model.experts.shared_hidden > 0 ? 3.0 : 2.0) : 1.0};
}

void LayerTeller::tell_input() {
  layer_.input = real(model.streams) * token_bytes / real(setting.token_split());
  layer_.saved_input = layer_.input / real(setting.saved_input_ranks);
  if (setting.saved_input_ranks > 1) {
    layer_.input_gather = {layer_.input / real(setting.saved_input_layers)};
  }
}

void LayerTeller::tell_linear(std::string_view name, std::int64_t rows, std::int64_t outputs,
                              std::int64_t inputs, const Split& split) {
  const std::int64_t outputs_here = split.inputs ? outputs : outputs / split.ranks;
  const std::int64_t inputs_here = split.inputs ? inputs / split.ranks : inputs;
  tell_weight_cast(real(outputs_here * inputs_here), split.module, split.operator_share);
  for (const std::int64_t adapted : split.adapters) {
    tell_adapter({.rows = rows,
                  .outputs = adapted,
                  .inputs = inputs,
                  .splits_inputs = split.inputs,
                  .ranks = split.ranks,
                  .module = split.module});
  }
  tell({name, LinearLayer{rows, outputs_here, inputs_here, setting.products, 0}, split.module,
        linear_parameters(outputs, inputs, split.bias) + split.more_parameters, false, split.kept,
        split.operator_share, split.feeds, split.ends_layer});
  // Sums of inputs that are split are scattered over the ranks that share tokens.
  const double result = real(rows * outputs_here) * element;
  layer_.pieces.back().result = split.inputs ? result / real(setting.token_split()) : result;
}

std::vector<std::int64_t> LayerTeller::adapters_of(std::initializer_list<Target> each,
                                                   std::optional<AdapterTarget> fused,
                                                   std::int64_t fused_outputs) const {
  const Learning& learning = setting.learning;
  if (learning.rank == 0) return {};
  if (fused && learning.targets.has(*fused)) return {fused_outputs};
  std::vector<std::int64_t> outputs;
  for (const Target& target : each) {
    if (learning.targets.has(target.word)) outputs.push_back(target.outputs);
  }
  return outputs;
}

bool LayerTeller::keeps_input_of(std::initializer_list<AdapterTarget> targets) const {
  const Learning& learning = setting.learning;
  if (learning.model_learns()) return true;
  const bool in_nf4 = learning.base == BaseFormat::nf4 || learning.base == BaseFormat::nf4_double;
  if (in_nf4 && keeps(KeptCopy::quantised_inputs)) return true;
  if (learning.rank == 0 || learning.dropout || copies_input(learning, software)) return false;
  return std::ranges::any_of(targets,
                             [&](AdapterTarget target) { return learning.targets.has(target); });
}

bool LayerTeller::keeps_mixer_input() const {
  using enum AdapterTarget;
  return keeps_input_of({q, k, v, qkv});
}

bool LayerTeller::keeps_feed_input() const {
  using enum AdapterTarget;
  if (kind.has_experts() && keeps_input_of({router})) return true;
  const bool dense = !kind.has_experts() || model.experts.shared_hidden > 0;
  return dense && keeps_input_of({gate, up, gate_up});
}

void LayerTeller::tell_weight_cast(double weights, Module module, double operator_share) {
  if (!setting.learning.model_learns() && setting.learning.base != BaseFormat::bf16) {
    return tell_dequantisation(layer_, weights, module, setting, software);
  }
  // Weights that a stack holds in fp32 are cast in each pass, narrower ones once a step, which is
  // not priced.
  const bool cast = is_quantized(setting.products) && software.memory.weight_bytes >= 4;
  if (!cast || setting.gathers_cast) return;
  tell({.name = "weight casts",
        .what = Casts{weights, weights, setting.casts, false},
        .module = module,
        .operator_share = operator_share});
}

double LayerTeller::handed_share(double traffic) {
  return std::max(0.0, 1.0 - 1.0 / traffic);
}

void LayerTeller::tell_pointwise(std::string_view name, Module module, double forward,
                                 double backward, double ranks, double kept,
                                 std::int64_t parameters, std::optional<OffloadModule> feeds) {
  const double traffic = software.kernels.pointwise_traffic(setting.compiled);
  const double pass = token_bytes / ranks * traffic;
  tell({name,
        PointwiseKernels{StreamKind::fused_pointwise, forward * pass, backward * pass,
                         handed_share(traffic), token_bytes / ranks},
        module, parameters, false, kept, 1, feeds});
}

void LayerTeller::tell_cast(std::string_view name, Module module, double forward, double backward) {
  if (!is_quantized(setting.products)) return;
  tell({name, Casts{forward, backward, setting.casts, setting.learning.model_learns()}, module});
}

void LayerTeller::tell_graph_copies() {
  const GraphCopies copies = graph_copies(model, kind, setting.graphs);
  if (copies.inputs == 0) return;
  const double pass = 2 * real(model.streams) * token_bytes / real(setting.token_split());
  tell({"graph copies", PointwiseKernels{StreamKind::fused_pointwise, copies.inputs * pass,
                                         copies.results * pass}});
}

void LayerTeller::tell_collective(std::string_view name, GroupAxis axis, double bytes,
                                  std::optional<CollectiveOp> forward,
                                  std::optional<CollectiveOp> backward, bool ends_layer) {
  LayerPiece piece{name, LayerCollective{axis, {bytes}, forward, backward}};
  if (forward == CollectiveOp::reduce_scatter) piece.operator_share = 0;
  piece.ends_layer = ends_layer && forward != CollectiveOp::all_gather;
  tell(piece);
}

void LayerTeller::tell_norm(bool is_kept, std::optional<OffloadModule> feeds) {
  const auto ranks = real(setting.token_split());
  const double norms = model.post_norms ? 2 : 1;
  const bool whole = software.memory.keeps_gathers || !setting.learning.model_learns();
  const double kept_split = whole ? 1 : ranks;
  // Frozen weights need the fp32 copy alone, not what they scale.
  const double most = setting.learning.model_learns() ? software.memory.norm_copy_bytes : kWideCopy;
  const double copies = software.kernels.fuses(setting.compiled)
                            ? 0
                            : norms * std::min(most, software.memory.norm_copy_bytes);
  tell_pointwise("norm", Module::norm, 2 * norms, 5 * norms, ranks,
                 (is_kept ? token_bytes / element * operand / kept_split : 0) +
                     token_bytes / element * copies / ranks,
                 static_cast<std::int64_t>(norms) * norm_parameters(model), feeds);
}

void LayerTeller::tell_streams_in(bool first) {
  const auto ranks = real(setting.token_split());
  if (const std::int64_t sublayers = model.block_residuals; sublayers > 0) {
    // Attention over the sums of blocks so far: half of all in the mean.
    const double sums = 1 + real(model.layers) / real(sublayers);
    tell_pointwise("block residuals", Module::other, sums + 1, 2 * sums, ranks, 0,
                   2 * model.hidden);
  }
  const std::int64_t streams = model.streams;
  if (streams == 1) return;
  const std::int64_t weights = (2 + streams) * streams;
  tell({"stream weights",
        LinearLayer{tokens / setting.token_split(), weights, streams * model.hidden,
                    setting.precision, 0},
        Module::other, weights * (streams * model.hidden + 1) + 3});
  const double bytes = token_bytes / ranks * real(streams + 1);
  // The sum, which the norm reads; and the streams, of which the first sublayer's are the input.
  tell({"streams in", PointwiseKernels{StreamKind::streams_in, bytes, 2 * bytes}, Module::streams,
        0, false, (first ? 1 : 1 + real(streams)) * token_bytes / ranks});
}

void LayerTeller::tell_residual(bool last) {
  if (const std::int64_t streams = model.streams; streams > 1) {
    const double bytes = token_bytes / real(setting.token_split()) * real(2 * streams + 1);
    return tell({"streams out", PointwiseKernels{StreamKind::streams_out, bytes, 2 * bytes}});
  }
  const auto ranks = real(setting.token_split());
  const double mask = model.dropout ? token_bytes / element / ranks : 0;
  const double passes = model.dropout ? 3.5 : 3;
  tell_pointwise("residual", Module::other, passes, passes, ranks,
                 mask + (last ? 0 : token_bytes / ranks), 0,
                 last ? std::nullopt : std::optional(OffloadModule::mlp_norm));
}

void LayerTeller::tell_input_gather() {
  if (setting.tp == 1 || !setting.sequence_parallel || software.memory.keeps_gathers) return;
  // The weight gradient alone reads it; adapters keep what they read whole.
  if (!setting.learning.model_learns()) return;
  tell({"input all-gather",
        LayerCollective{
            GroupAxis::tensor, {gathered_bytes(1)}, std::nullopt, CollectiveOp::all_gather, true}});
}

double LayerTeller::gathered_bytes(int copies) const {
  if (!software.communication.narrow_gathers) return token_bytes;
  return std::min<double>(token_bytes, copies * token_bytes / element * operand);
}

void LayerTeller::tell_tensor_sum(std::string_view name, bool scatter, bool gather,
                                  bool ends_layer) {
  if (setting.tp == 1) return;
  using enum CollectiveOp;
  const GroupAxis axis = GroupAxis::tensor;
  if (!setting.sequence_parallel) {
    if (scatter) tell_collective(name, axis, token_bytes, all_reduce, all_reduce, ends_layer);
    return;
  }
  if (scatter) tell_scatter(name, ends_layer);
  if (gather) tell_gather(name, ends_layer);
}

void LayerTeller::tell_scatter(std::string_view name, bool ends_layer) {
  const bool by_blocks = setting.casts == CastRecipe::mxfp8 || setting.casts == CastRecipe::nvfp4;
  tell_collective(name, GroupAxis::tensor, token_bytes, CollectiveOp::reduce_scatter, std::nullopt,
                  ends_layer);
  tell_collective(name, GroupAxis::tensor, gathered_bytes(by_blocks ? 2 : 1), std::nullopt,
                  CollectiveOp::all_gather, ends_layer);
}

void LayerTeller::tell_gather(std::string_view name, bool ends_layer) {
  tell_collective(name, GroupAxis::tensor, gathered_bytes(1), CollectiveOp::all_gather,
                  std::nullopt, ends_layer);
  tell_collective(name, GroupAxis::tensor, token_bytes, std::nullopt, CollectiveOp::reduce_scatter,
                  ends_layer);
}

}  // namespace prequel
