#pragma once

/// Exact parameter counts, read off the layers as they are told.

#include <cstdint>

#include "models/layers/parts.hpp"

namespace prequel {

/// Parameters by the groups that split them: experts' are spread over expert ranks, all others
/// over tensor ranks.
struct ParameterCount {
  std::int64_t dense{};
  std::int64_t experts{};

  [[nodiscard]] std::int64_t total() const { return dense + experts; }
  ParameterCount& operator+=(const ParameterCount& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
  }
  friend ParameterCount operator*(std::int64_t times, ParameterCount count) {
    return {times * count.dense, times * count.experts};
  }
};

/// Returns the parameters of a told layer.
ParameterCount parameters_of(const Layer& layer);
/// Those of them that learn.
ParameterCount learning_parameters_of(const Layer& layer);
struct PartParameters {
  ParameterCount all;       ///< adapters included
  ParameterCount learning;  ///< of them, those that learn
};

/// Returns the parameters of one block of that kind. GPT-2 style: 12h² + 13h.
ParameterCount block_parameters(const Transformer& model, LayerKind kind);
/// Returns the parameters of the model's first block.
std::int64_t layer_parameters(const Transformer& model);
/// Returns the parameters of the word embedding for a vocabulary of `vocab` rows (padded or not).
std::int64_t embedding_parameters(const Transformer& model, std::int64_t vocab);
/// Learned positions (for sequences of `positions` tokens) and the norm after the embedding.
std::int64_t position_parameters(const Transformer& model, std::int64_t positions);
/// Returns the parameters of the norm before the head, and of a score in its place.
std::int64_t final_norm_parameters(const Transformer& model);
/// Returns the parameters of one of each part that the model has, but the table of words, which the
/// stack pads: positions (of `seq_len` tokens) for the embedding, the last norm for the head, and
/// for multi-token prediction the tensors before its block.
PerPart<PartParameters> part_parameters(const Transformer& model, std::int64_t seq_len,
                                        const Learning& learning = {});
/// Returns the parameters of one depth of multi-token prediction, but its head.
ParameterCount next_token_parameters(const Transformer& model);
/// All of them; the head counts once more when it is not tied to the embedding. Layers of
/// multi-token prediction are left out, as publishers count, unless all depths share one's.
std::int64_t total_parameters(const Transformer& model);
/// Those that learn, tables and adapters included.
std::int64_t learning_parameters(const Transformer& model, const Learning& learning);
/// Those that one token passes: top-k of the experts, and all others but the word embedding where
/// it is not the head's table as well.
std::int64_t active_parameters(const Transformer& model);

}  // namespace prequel
