#pragma once

/// Traits of models' families where their config.json does not say them: the defaults of their
/// classes in Transformers, as a table.

#include <cstdint>
#include <span>
#include <string_view>

#include "models/shape/transformer.hpp"

namespace prequel {

/// A trait of a family beside its kinds of MLP, positions and norm.
enum FamilyTrait : unsigned {
  kBiases = 1u << 0,         ///< in all linear layers
  kQkvBias = 1u << 1,        ///< in the projection to queries, keys and values
  kNoQkvBias = 1u << 2,      ///< in all others
  kTied = 1u << 3,           ///< head and embedding
  kEmbeddingNorm = 1u << 4,  ///< behind the embedding
  kQkNorm = 1u << 5,
  kPostNorms = 1u << 6,
  kParallel = 1u << 7,    ///< attention and MLP side by side
  kSharedGate = 1u << 8,  ///< of the shared experts
  kSinks = 1u << 9,       ///< learned scores in the softmax
};

/// Sizes that a class has by default; 0: it has none.
struct DefaultSizes {
  std::int64_t layers{}, hidden{}, heads{}, kv_heads{}, head_dim{}, ffn_hidden{}, vocab{},
      positions{};
};

struct Family {
  std::string_view type;  ///< `model_type`
  Mlp mlp{};
  PositionEmbedding position{};
  Norm norm{};
  unsigned traits{};
  DefaultSizes sizes{};
  std::int64_t window{};      ///< of sliding attention, where `layer_types` say none of it
  std::int64_t full_every{};  ///< the last of every so many layers attends to everything

  [[nodiscard]] bool has(FamilyTrait trait) const { return (traits & trait) != 0; }
};
std::span<const Family> families();

/// Another name of a family, or the language model of a multi-modal one.
struct FamilyAlias {
  std::string_view type, family;
};
std::span<const FamilyAlias> family_aliases();

/// Families that are no decoders of attention and MLPs alone.
struct RefusedFamily {
  std::string_view type, what;
};
std::span<const RefusedFamily> refused_families();

}  // namespace prequel
