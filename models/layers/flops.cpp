#include "models/layers/flops.hpp"

#include <algorithm>

#include "models/layers/bridge_flops.hpp"
#include "models/layers/layer.hpp"
#include "models/layers/parameters.hpp"

namespace prequel {
namespace {

/// Pairs of query and key of a sequence, as far as windows or chunks let them see each other, and
/// where `causal` as far as the mask does.
double pairs_seen(const FusedAttention& shape, bool causal) {
  const double queries = real(shape.seq);
  if (shape.window > 0 && shape.window < shape.keys()) {
    const double seen = real(shape.window);
    return (causal ? queries - seen / 2 : queries) * seen;  // each of the first queries sees less
  }
  return (causal ? 0.5 : 1.0) * queries * shape.mean_chunk();
}

/// FLOP of the products of a told layer's forward pass, of pieces of `modules`; `to_end`: with what
/// no backward needs.
double forward_flops(const Layer& layer, WordSet<Module> modules, bool causal, bool to_end = true) {
  double flops = 0;
  for (const LayerPiece& piece : layer.pieces) {
    const double share = piece.repeated_share(modules);
    if (share <= 0 || (piece.ends_layer && !to_end)) continue;
    if (const auto* linear = std::get_if<LinearLayer>(&piece.what)) {
      flops += share * 2 * real(linear->rows) * real(linear->outputs) * real(linear->inputs);
    } else if (const auto* attention = std::get_if<AttentionCore>(&piece.what)) {
      const FusedAttention& shape = attention->shape;
      flops += 2 * real(shape.batch * shape.heads) * pairs_seen(shape, causal) *
               real(shape.head_dim + shape.value_size());
    } else if (const auto* scan = std::get_if<Scan>(&piece.what)) {
      flops += share * scan_flops(*scan).value;
    } else if (const auto* sparse = std::get_if<SparseAttention>(&piece.what)) {
      flops += share * sparse->flops().value;
    }
  }
  return flops;
}

/// FLOP of weight gradients that nobody computes.
double frozen_flops(const Layer& layer) {
  double flops = 0;
  for (const LayerPiece& piece : layer.pieces) {
    const auto* linear = std::get_if<LinearLayer>(&piece.what);
    if (!linear || piece.learns) continue;
    flops += 2 * real(linear->rows) * real(linear->outputs) * real(linear->inputs);
  }
  return flops;
}

StepFlops prequel_flops(const Transformer& model, const StepShape& step, bool causal) {
  LayerSetting setting;
  setting.seq_len = step.seq_len;
  setting.attention = AttentionKind::flash;
  setting.learning = step.learning;
  setting.seen_len = step.seen_len;
  Transformer padded = model;
  padded.vocab = step.vocab;
  const Software plain{};
  const WordSet<Module> repeated = repeated_modules(step.recompute);
  const PartCounts held = parts_of(model);
  double once = 0;
  double again = 0;
  double frozen = 0;
  const auto add = [&](double count, const Layer& layer) {
    once += count * forward_flops(layer, WordSet<Module>::all(), causal);
    frozen += count * (layer.detached ? 2 * forward_flops(layer, WordSet<Module>::all(), causal)
                                      : frozen_flops(layer));
  };
  each_kind(LayerKinds(model), [&](Part part, LayerKind kind) {
    const Layer block = tell_block(model, kind, setting, plain);
    add(real(held[part]), block);
    if (block.detached) return;
    again += real(held[part]) * forward_flops(block, repeated, causal, !step.stops_early);
  });
  add(real(1 + model.next_token_layers), tell_head(padded, setting, plain));
  add(real(model.next_token_layers), tell_next_token(model, setting, plain));
  const double sequences = real(step.gbs);
  const double skipped = sequences * frozen;
  return {{3 * sequences * once - skipped},
          {sequences * (3 * once + step.repeated_blocks * again) - skipped}};
}

StepFlops megatron_hw_flops(const Transformer& model, const StepShape& step) {
  const double h = real(model.hidden);
  const double l = real(model.layers);
  const double s = real(step.seq_len);
  const double v = real(step.vocab);
  const double base = 24 * real(step.gbs) * s * l * h * h;
  const double k = step.recompute == Recompute::full ? 4 : 3;
  return {{3 * base * (1 + s / (6 * h) + v / (12 * l * h))},
          {k * base * (1 + s / (6 * h) + v / (16 * l * h))}};
}

StepFlops bs_noemb_flops(const Transformer& model, const StepShape& step) {
  const double h = real(model.hidden);
  const double parameters = real(model.layers) * (12 * h * h + 7 * h + 6 * h * real(step.tp));
  const double once = 2 * parameters * real(step.seq_len) * real(step.gbs);
  return {{3 * once}, {(step.recompute == Recompute::full ? 4 : 3) * once}};
}

StepFlops mosaic_flops(const Transformer& model, const StepShape& step, bool with_attention) {
  Transformer counted = model;
  counted.max_positions = step.seq_len;  // the source sizes the position table to the sequence
  const double s = real(step.seq_len);
  const double products = 2 * real(total_parameters(counted)) * s * real(step.gbs);
  const double attention =
      with_attention ? real(model.layers) * 2 * real(model.hidden) * s * s * real(step.gbs) : 0;
  const double k = step.recompute == Recompute::full ? 4 : 3;
  return {{3 * products + 2 * attention}, {k * products + (k - 1) * attention}};
}

/// Returns the step's FLOP by a convention that counts by the token and knows no recompute.
template <class Count>
StepFlops of_tokens(const Count& count, const Transformer& model, const StepShape& step) {
  const Flops all{real(step.gbs * step.seq_len) * count(model, step.seq_len, step.vocab)};
  return {all, all};
}

}  // namespace

std::optional<FlopsConvention> flops_convention(std::string_view name) {
  for (std::size_t i = 0; i < kFlopsConventionNames.size(); ++i) {
    if (kFlopsConventionNames[i] == name) return FlopsConvention(i);
  }
  return std::nullopt;
}

StepFlops step_flops(const Transformer& model, const StepShape& step, FlopsConvention convention) {
  switch (convention) {
    case FlopsConvention::prequel: return prequel_flops(model, step, false);
    case FlopsConvention::causal: return prequel_flops(model, step, true);
    case FlopsConvention::megatron_hw: return megatron_hw_flops(model, step);
    case FlopsConvention::bs_noemb: return bs_noemb_flops(model, step);
    case FlopsConvention::mosaic_2023: return mosaic_flops(model, step, true);
    case FlopsConvention::bridge_hybrid: return of_tokens(bridge_hybrid_flops, model, step);
    case FlopsConvention::bridge_gdn: return of_tokens(bridge_gdn_flops, model, step);
    case FlopsConvention::bridge_dsa: return of_tokens(bridge_dsa_flops, model, step);
    case FlopsConvention::bridge_dsv4: return of_tokens(bridge_dsv4_flops, model, step);
    case FlopsConvention::mosaic_2023_star: return mosaic_flops(model, step, false);
  }
  return {};
}

}  // namespace prequel
