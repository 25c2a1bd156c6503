#include "models/layers/parameters.hpp"

#include <cmath>

#include "models/layers/adapter.hpp"

namespace prequel {
namespace {

/// Whole tensors on one rank.
LayerSetting whole(const Transformer& model) {
  LayerSetting setting;
  setting.seq_len = model.max_positions;
  setting.attention = AttentionKind::flash;
  return setting;
}

/// Calls `visit` with the number of layers of each kind that the model has, and what one holds.
template <class Visit>
void each_kind_of_block(const Transformer& model, const Visit& visit) {
  const PartCounts layers = blocks_of(model, 0, model.layers);
  each_kind(LayerKinds(model), [&](Part part, LayerKind kind) {
    if (layers[part] > 0) visit(layers[part], block_parameters(model, kind));
  });
}

/// Returns the parameters of the pieces that `counts` chooses.
template <class Counts>
ParameterCount parameters_where(const Layer& layer, const Counts& counts) {
  ParameterCount count;
  for (const LayerPiece& piece : layer.pieces) {
    if (counts(piece)) (piece.of_experts ? count.experts : count.dense) += piece.parameters;
  }
  return count;
}

}  // namespace

ParameterCount parameters_of(const Layer& layer) {
  return parameters_where(layer, [](const LayerPiece&) { return true; });
}

ParameterCount learning_parameters_of(const Layer& layer) {
  return parameters_where(layer, [](const LayerPiece& piece) { return piece.learns; });
}

ParameterCount block_parameters(const Transformer& model, LayerKind kind) {
  return parameters_of(tell_block(model, kind, whole(model), Software{}));
}

std::int64_t layer_parameters(const Transformer& model) {
  return block_parameters(model, model.kind_of(0)).total();
}

std::int64_t embedding_parameters(const Transformer& model, std::int64_t vocab) {
  return vocab * model.hidden;
}

std::int64_t position_parameters(const Transformer& model, std::int64_t positions) {
  LayerSetting setting = whole(model);
  setting.seq_len = positions;
  return parameters_of(tell_embedding(model, setting, Software{})).total() -
         embedding_parameters(model, model.vocab);
}

std::int64_t final_norm_parameters(const Transformer& model) {
  const std::int64_t table = model.scores ? 0 : embedding_parameters(model, model.vocab);
  return parameters_of(tell_head(model, whole(model), Software{})).total() - table;
}

PerPart<PartParameters> part_parameters(const Transformer& model, std::int64_t seq_len,
                                        const Learning& learning) {
  const PartCounts held = parts_of(model);
  LayerSetting setting = whole(model);
  setting.learning = learning;
  PerPart<PartParameters> counts;
  const auto count = [&](Part part, const Layer& layer) {
    counts[part] = {parameters_of(layer), learning_parameters_of(layer)};
  };
  each_kind(LayerKinds(model), [&](Part part, LayerKind kind) {
    count(part, tell_block(model, kind, setting, Software{}));
  });
  if (held[Part::next_token] > 0) {
    count(Part::next_token, tell_next_token(model, setting, Software{}));
  }
  counts[Part::embedding].all.dense = position_parameters(model, seq_len);
  counts[Part::head].all.dense = final_norm_parameters(model);
  for (const Part end : {Part::embedding, Part::head}) {
    if (learning.all_learns()) counts[end].learning = counts[end].all;
    const bool embeds = end == Part::embedding;
    if (!learning.adapts(embeds ? AdapterTarget::embedding : AdapterTarget::head)) continue;
    const ParameterCount adapter{adapter_parameters(learning, embeds ? model.hidden : model.vocab,
                                                    embeds ? model.vocab : model.hidden),
                                 0};
    counts[end].all += adapter;
    counts[end].learning += adapter;
  }
  return counts;
}

std::int64_t learning_parameters(const Transformer& model, const Learning& learning) {
  if (learning.all_learns()) return total_parameters(model);
  const PerPart<PartParameters> parts = part_parameters(model, model.max_positions, learning);
  const PartCounts layers = blocks_of(model, 0, model.layers);
  ParameterCount count;
  each_part([&](Part part) {
    if (is_block(part)) count += layers[part] * parts[part].learning;
  });
  count += parts[Part::embedding].learning;
  count += parts[Part::head].learning;
  const std::int64_t tables = model.tied_embeddings ? 1 : 2;
  return count.total() +
         (learning.tables_learn() ? tables * embedding_parameters(model, model.vocab) : 0);
}

ParameterCount next_token_parameters(const Transformer& model) {
  ParameterCount count = parameters_of(tell_next_token(model, whole(model), Software{}));
  for (const LayerKind& kind : model.next_token_kinds()) count += block_parameters(model, kind);
  return count;
}

std::int64_t total_parameters(const Transformer& model) {
  ParameterCount count;
  each_kind_of_block(
      model, [&](std::int64_t layers, const ParameterCount& block) { count += layers * block; });
  if (model.repeats_next_token) count += next_token_parameters(model);
  const std::int64_t tables = model.tied_embeddings ? 1 : 2;
  return count.total() + tables * embedding_parameters(model, model.vocab) +
         position_parameters(model, model.max_positions) + final_norm_parameters(model) +
         model.other_parameters;
}

std::int64_t active_parameters(const Transformer& model) {
  std::int64_t idle = model.other_parameters;
  if (model.repeats_next_token) idle += next_token_parameters(model).total();
  if (!model.has_experts()) return total_parameters(model) - idle;
  each_kind_of_block(model, [&](std::int64_t layers, const ParameterCount& block) {
    const double used = model.experts.working() / real(model.experts.count);
    idle += layers * (block.experts - std::llround(used * real(block.experts)));
  });
  return total_parameters(model) - idle;
}

}  // namespace prequel
