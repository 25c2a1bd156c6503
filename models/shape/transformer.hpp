#pragma once

/// The transformer that is trained: shapes and exact parameter counts.

#include <cstdint>
#include <string>

namespace prequel {

class Document;

enum class Mlp : std::uint8_t { gelu, swiglu };
enum class PositionEmbedding : std::uint8_t { learned, alibi, rope, none };
enum class Norm : std::uint8_t { layer_norm, rms_norm };

/// A decoder-only transformer. All counts are of whole tensors, before any parallel split.
struct Transformer {
  std::string name;
  std::int64_t layers{};  ///< transformer blocks
  std::int64_t hidden{};
  std::int64_t heads{};
  std::int64_t kv_heads{};  ///< heads of keys and values (grouped-query attention)
  std::int64_t head_dim{};
  std::int64_t ffn_hidden{};
  std::int64_t vocab{};  ///< as the tokenizer has it, before padding
  std::int64_t max_positions{};
  Mlp mlp{Mlp::gelu};
  PositionEmbedding position{PositionEmbedding::learned};
  Norm norm{Norm::layer_norm};
  bool linear_bias{true};
  bool tied_embeddings{true};
  bool embedding_norm{false};  ///< a layer norm right after the embedding (BLOOM)

  /// Width of the packed query, key and value projection.
  [[nodiscard]] std::int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  /// Width of the attention output before its projection.
  [[nodiscard]] std::int64_t attention_width() const { return heads * head_dim; }
  /// Width of the first MLP product: twice the inner width when it is gated.
  [[nodiscard]] std::int64_t mlp_in_width() const {
    return mlp == Mlp::swiglu ? 2 * ffn_hidden : ffn_hidden;
  }
};

/// Parameters of one block: attention, MLP, two norms. GPT-2 style: 12h² + 13h.
std::int64_t layer_parameters(const Transformer& model);
/// Parameters of the word embedding for a vocabulary of `vocab` rows (padded or not).
std::int64_t embedding_parameters(const Transformer& model, std::int64_t vocab);
/// Learned positions (for sequences of `positions` tokens) and the norm after the embedding.
std::int64_t position_parameters(const Transformer& model, std::int64_t positions);
/// Parameters of the norm before the head.
std::int64_t final_norm_parameters(const Transformer& model);
/// All of them; the head counts once more when it is not tied to the embedding.
std::int64_t total_parameters(const Transformer& model);

/// The vocabulary padded so that `tp` ranks hold equal, aligned parts (Megatron's
/// `--make-vocab-size-divisible-by`): the next multiple of `multiple`·tp.
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tp, std::int64_t multiple);

/// Reads a `prequel/model/1` file (Hugging Face's field names). Throws InputError with every
/// problem of the file.
Transformer read_transformer(const Document& file);

}  // namespace prequel
