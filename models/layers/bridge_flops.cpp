#include "models/layers/bridge_flops.hpp"

#include <algorithm>

#include "hw/base/units.hpp"

namespace prequel {
namespace {

/// Calls `visit` for each layer, those of all depths of multi-token prediction included.
template <class Visit>
void each_layer(const Transformer& model, const Visit& visit) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer) visit(model.kind_of(layer));
  for (std::int64_t depth = 0; depth < model.next_token_layers; ++depth) {
    for (const LayerKind& kind : model.next_token_kinds()) visit(kind);
  }
}

double logits(const Transformer& model, std::int64_t vocab) {
  return 2 * real(model.hidden) * real(vocab) * real(1 + model.next_token_layers);
}

/// Forward, a token: an MLP of inner width `inner` over `width`.
double mlp(const Transformer& model, std::int64_t width, std::int64_t inner) {
  return (is_gated(model.mlp) ? 6 : 4) * real(width) * real(inner);
}

double feed(const Transformer& model, LayerKind kind) {
  if (kind.feed == Feed::none) return 0;
  if (kind.feed == Feed::mlp) return mlp(model, model.hidden, model.inner_of(kind));
  const Experts& experts = model.experts;
  const double latent = 4 * real(model.hidden) * real(experts.latent);
  return real(experts.top_k) * mlp(model, model.expert_width(), experts.ffn_hidden) + latent +
         mlp(model, model.hidden, experts.shared_hidden);
}

/// Plain attention with the causal half of its pairs.
double attention(const Transformer& model, std::int64_t seq_len) {
  const double h = real(model.hidden);
  const double width = real(model.attention_width());
  const double keys = real(model.kv_heads * (model.key_dim() + model.value_dim()));
  const double gate = model.output_gate ? width : 0;
  return 2 * h * (real(model.heads * model.key_dim()) + gate + keys) + 2 * width * h +
         real(seq_len * model.heads) * real(model.key_dim() + model.value_dim());
}

/// A gated delta net, whose states count four times a head's square.
double delta_net(const Transformer& model) {
  const LinearAttention& shape = model.linear_attention;
  const double h = real(model.hidden);
  const double keys = real(shape.keys());
  const double values = real(shape.values());
  const double heads = real(shape.value_heads);
  return 2 * (h * (2 * keys + 2 * values + 2 * heads) + real(shape.conv) * (2 * keys + values) +
              4 * heads * real(shape.value_dim * shape.value_dim) + h * values);
}

/// With an inner width of twice the hidden size.
double state_space(const Transformer& model) {
  const StateSpace& shape = model.state_space;
  const double h = real(model.hidden);
  const double inner = 2 * h;
  const double states = real(shape.groups * shape.state);
  return 2 * h * (2 * inner + 2 * states + real(shape.heads)) + 7 * inner * real(shape.state) +
         2 * inner * h;
}

/// Returns the FLOP per token of multi-token prediction's norms and projection, forward and
/// backward.
double next_token(const Transformer& model) {
  const double h = real(model.hidden);
  return real(model.next_token_layers) * 6 * (3 * h + 2 * h * h);
}

}  // namespace

double bridge_hybrid_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab) {
  double forward = logits(model, vocab);
  each_layer(model, [&](LayerKind kind) {
    forward += feed(model, kind);
    if (kind.mixer == Mixer::attention && !model.is_latent()) forward += attention(model, seq_len);
    if (kind.mixer == Mixer::state_space) forward += state_space(model);
    if (kind.mixer == Mixer::delta_net) forward += delta_net(model);
  });
  return 3 * forward;
}

double bridge_gdn_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab) {
  double forward = logits(model, vocab);
  each_layer(model, [&](LayerKind kind) {
    forward += feed(model, kind);
    forward += kind.mixer == Mixer::delta_net ? delta_net(model) : attention(model, seq_len);
  });
  return 3 * forward + next_token(model);
}

double bridge_dsa_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab) {
  const LatentAttention& latent = model.latent;
  const Indexer& indexer = model.indexer;
  const double h = real(model.hidden);
  const double heads = real(model.heads);
  const double products = h * real(latent.q_rank) +
                          real(latent.q_rank) * heads * real(latent.nope + latent.rope) +
                          h * real(latent.kv_rank + latent.rope) +
                          real(latent.kv_rank) * heads * real(latent.nope + latent.value) +
                          heads * real(latent.value) * h;
  const double half = (real(seq_len) + 1) / 2;
  const double k = real(indexer.top_k);
  const double seen = seq_len <= indexer.top_k ? half : k - k * (k - 1) / (2 * real(seq_len));
  const double width = real(indexer.heads * indexer.head_dim);
  const double scores = real(indexer.heads * (indexer.head_dim + 1));
  const double chosen =
      4 * (real(latent.q_rank) * width + h * real(indexer.head_dim) + h * real(indexer.heads)) +
      2 * half * scores + 4 * seen * scores + 2 * seen * heads * real(latent.kv_rank + latent.rope);
  double forward = logits(model, vocab);
  double rest = next_token(model);
  each_layer(model, [&](LayerKind kind) {
    forward += feed(model, kind);
    rest += 6 * products + 6 * seen * heads * real(2 * latent.kv_rank + latent.rope);
    if (kind.mixer == Mixer::sparse) rest += chosen;
  });
  return 3 * forward + rest;
}

double bridge_dsv4_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab) {
  const CompressedAttention& shape = model.compression;
  const Indexer& indexer = model.indexer;
  const double h = real(model.hidden);
  const double rank = real(model.latent.q_rank);
  const double d = real(model.head_dim);
  const double heads = real(model.heads);
  const double products = h * rank + rank * heads * d + h * d + heads * d * real(shape.out_rank) +
                          real(shape.out_groups * shape.out_rank) * h;
  const double near = real(seq_len / 4), far = real(seq_len / 128);
  double rest = next_token(model);
  double forward = logits(model, vocab);
  each_layer(model, [&](LayerKind kind) {
    forward += feed(model, kind);
    double weights = products;
    double keys = real(shape.window);
    if (kind.mixer == Mixer::compressed) {  // two overlapping sums of keys and of weights
      weights += 4 * h * d + rank * real(indexer.heads * indexer.head_dim) +
                 h * real(indexer.heads + 4 * indexer.head_dim);
      keys += std::min(real(indexer.top_k), near);
    } else if (kind.mixer == Mixer::compressed_far) {
      weights += 2 * h * d;
      keys += far / 2;
    }
    rest += 6 * weights + 6 * keys * heads * 2 * d;
  });
  return 3 * forward + rest;
}

}  // namespace prequel
