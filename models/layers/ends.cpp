#include "models/layers/adapter.hpp"
#include "models/layers/layer.hpp"

namespace prequel {
namespace {

std::int64_t rows_of_table(const Transformer& model, const LayerSetting& setting,
                           const Software& software) {
  return padded_vocab(model.vocab, setting.tp, software.vocab_multiple);
}

/// Adds the adapter of a table, where it has one.
void tell_adapted_table(Layer& layer, AdapterTarget table, const Transformer& model,
                        const LayerSetting& setting, const Software& software) {
  if (!setting.learning.adapts(table)) return;
  if (table == AdapterTarget::embedding) {
    return tell_table_adapter(
        layer, {.rows = setting.tokens(), .outputs = model.hidden, .inputs = model.vocab}, setting,
        software);
  }
  tell_adapter(layer,
               {.rows = setting.tokens(),
                .outputs = model.vocab,
                .inputs = model.hidden,
                .ranks = setting.tp},
               setting, software);
}

double token_bytes(const Transformer& model, const LayerSetting& setting,
                   const Software& software) {
  return real(setting.tokens() * model.hidden) *
         bytes_per_element(stream_precision(setting, software));
}

}  // namespace

std::int64_t norm_parameters(const Transformer& model) {
  return model.norm == Norm::layer_norm ? 2 * model.hidden : model.hidden;
}

Layer tell_embedding(const Transformer& model, const LayerSetting& setting,
                     const Software& software) {
  const double bytes = token_bytes(model, setting, software);
  const bool learns = setting.learning.tables_learn();
  Layer layer;
  layer.pieces.push_back(
      {"embedding", PointwiseKernels{StreamKind::embedding, 2 * bytes, learns ? 3 * bytes : 0},
       Module::other, rows_of_table(model, setting, software) * model.hidden});
  layer.pieces.back().learns = learns;
  const std::int64_t positions =
      model.position == PositionEmbedding::learned ? setting.seq_len * model.hidden : 0;
  const std::int64_t norm = model.embedding_norm ? norm_parameters(model) : 0;
  const double mask =
      model.dropout ? real(setting.tokens() * model.hidden) / real(setting.token_split()) : 0.0;
  layer.pieces.push_back(
      {"positions", PointwiseKernels{}, Module::other, positions + norm, false, mask});
  layer.pieces.back().learns = setting.learning.all_learns();
  tell_adapted_table(layer, AdapterTarget::embedding, model, setting, software);
  if (setting.tp == 1) return layer;
  using enum CollectiveOp;
  const auto add = [&](std::optional<CollectiveOp> forward) {
    layer.pieces.push_back(
        {"embedding all-reduce", LayerCollective{GroupAxis::tensor, {bytes}, forward, {}}});
  };
  if (setting.sequence_parallel) {
    add(reduce_scatter);
    add(all_gather);
  } else {
    add(all_reduce);
  }
  return layer;
}

Layer tell_head(const Transformer& model, const LayerSetting& setting, const Software& software) {
  const std::int64_t vocab = head_outputs(model, setting.tp, software.vocab_multiple);
  const std::int64_t rows = model.scores ? vocab : vocab * setting.tp;
  const double logits = real(setting.tokens()) * real(vocab);
  Layer layer;
  // Residual streams, or the sums of blocks, are brought together before it.
  const std::int64_t streams = model.streams;
  std::int64_t last = norm_parameters(model);
  if (streams > 1) last += streams * streams * model.hidden + streams + 1;
  if (model.block_residuals > 0) last += 2 * model.hidden;
  layer.input = token_bytes(model, setting, software) / real(setting.token_split());
  layer.pieces.push_back({"final norm", PointwiseKernels{}, Module::other, last, false,
                          token_bytes(model, setting, software) / real(setting.token_split())});
  layer.pieces.back().learns = setting.learning.all_learns();
  if (setting.tp > 1) {
    using enum CollectiveOp;
    const auto add = [&](CollectiveOp backward) {
      layer.pieces.push_back(
          {"logits all-reduce",
           LayerCollective{
               GroupAxis::tensor, {token_bytes(model, setting, software)}, {}, backward}});
    };
    if (setting.sequence_parallel) {
      add(all_gather);
      add(reduce_scatter);
    } else {
      add(all_reduce);
    }
  }
  tell_adapted_table(layer, AdapterTarget::head, model, setting, software);
  layer.pieces.push_back(
      {"logits",
       LinearLayer{setting.tokens(), vocab, model.hidden, stream_precision(setting, software), 0},
       Module::other, rows * model.hidden});
  layer.pieces.back().learns = setting.learning.tables_learn();
  if (model.logit_cap) {
    // Reads and writes; backward reads the gradient and its result, which is kept, and writes.
    const double pass = logits * bytes_per_element(setting.precision);
    layer.pieces.push_back({"logit soft-cap",
                            PointwiseKernels{StreamKind::fused_pointwise, 2 * pass, 3 * pass},
                            Module::other, 0, false, pass});
  }
  // Two in five of the bytes are the forward pass's: 6 of 16 by the count of Megatron-Core's
  // kernels, 18 of 44 by that of PyTorch's eager ones.
  constexpr double kForward = 0.4;
  const double traffic = software.kernels.cross_entropy_bytes.of(setting.compiled) * logits;
  layer.pieces.push_back(
      {"cross-entropy", PointwiseKernels{StreamKind::cross_entropy, kForward * traffic,
                                         (1.0 - kForward) * traffic}});
  return layer;
}

Layer tell_next_token(const Transformer& model, const LayerSetting& setting,
                      const Software& software) {
  const double traffic =
      token_bytes(model, setting, software) * software.kernels.pointwise_traffic(setting.compiled);
  Layer layer;
  layer.input = token_bytes(model, setting, software) / real(setting.token_split());
  layer.pieces.push_back(
      {"next-token norms", PointwiseKernels{StreamKind::fused_pointwise, 6 * traffic, 12 * traffic},
       Module::norm, 3 * norm_parameters(model), false, 2 * token_bytes(model, setting, software)});
  layer.pieces.push_back({"next-token projection",
                          LinearLayer{setting.tokens(), model.hidden / setting.tp, 2 * model.hidden,
                                      setting.precision, 0},
                          Module::other, 2 * model.hidden * model.hidden, false,
                          token_bytes(model, setting, software)});
  for (LayerPiece& piece : layer.pieces) piece.learns = setting.learning.all_learns();
  return layer;
}

}  // namespace prequel
