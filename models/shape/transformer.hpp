#pragma once

/// The transformer that is trained: its shapes, whole, before any parallel split.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hw/base/words.hpp"
#include "models/shape/layer_kind.hpp"
#include "models/shape/mixer_shapes.hpp"

namespace prequel {

class Document;

enum class Mlp : std::uint8_t { gelu, swiglu, geglu, relu, squared_relu };
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<Mlp>{"gelu", "swiglu", "geglu", "relu",
                                                               "squared-relu"};
enum class PositionEmbedding : std::uint8_t { learned, alibi, rope, none };
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<PositionEmbedding>{"learned", "alibi",
                                                                             "rope", "none"};
enum class Norm : std::uint8_t { layer_norm, rms_norm };
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Norm>{"layer_norm", "rms_norm"};

/// Tests whether the MLP multiplies its activation with a second projection of its input.
constexpr bool is_gated(Mlp mlp) {
  return mlp == Mlp::swiglu || mlp == Mlp::geglu;
}

/// Experts that stand in the place of the MLP in some layers.
struct Experts {
  std::int64_t count{};  ///< routed ones; 0: the model has none
  std::int64_t top_k{1};
  std::int64_t ffn_hidden{};      ///< inner width of one
  std::int64_t shared_hidden{};   ///< of those that every token passes, together; 0: none
  bool shared_gate{};             ///< a sigmoid of the token scales the shared ones (Qwen2-MoE)
  std::int64_t first_dense{};     ///< layers at the front that keep their MLP
  std::int64_t every{1};          ///< of the others, the last of every so many has experts
  std::int64_t groups{1};         ///< of group-limited routing (DeepSeek)
  std::int64_t groups_chosen{1};  ///< of these, for a token
  std::int64_t latent{};          ///< width that tokens are brought to for routed ones; 0: hidden
  bool latent_norm{};             ///< a norm of the latent vector
  bool router_bias{};             ///< a bias an expert that balances their load
  std::int64_t hash_layers{};     ///< layers at the front whose experts the token's word chooses
  std::int64_t zero{};            ///< further ones that give the token back (LongCat)
  bool shortcut{};                ///< dense sublayers up to the next ones do not wait for them

  /// Returns how many experts with work a token is sent to, on average.
  [[nodiscard]] double working() const {
    return static_cast<double>(top_k * count) / static_cast<double>(count + zero);
  }

  bool operator==(const Experts&) const = default;
};

/// Latent attention (DeepSeek-V2): keys and values, and perhaps queries, by way of a narrow
/// vector a token; a head has parts with and without positions.
struct LatentAttention {
  std::int64_t kv_rank{};  ///< 0: the model has plain attention
  std::int64_t q_rank{};   ///< 0: queries are projected directly
  std::int64_t nope{};     ///< size of a head's part without positions
  std::int64_t rope{};     ///< with positions; for keys one for all heads
  std::int64_t value{};    ///< size of a value head

  bool operator==(const LatentAttention&) const = default;
};

/// A decoder-only transformer.
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
  bool qkv_bias{true};     ///< of the projection to queries, keys and values (Qwen2 has no other)
  bool qk_norm{};          ///< norms of queries and keys, head by head
  bool post_norms{};       ///< norms behind attention and MLP, too (Gemma 2)
  bool attention_sinks{};  ///< a learned score a head that takes part in the softmax (GPT-OSS)
  bool score_cap{};        ///< attention scores pass a tanh before the softmax (Gemma 2)
  bool logit_cap{};        ///< and so do logits before the loss
  bool parallel_block{};   ///< attention and MLP side by side, one norm and one sum (Falcon, NeoX)
  bool dropout{};          ///< of hidden states, whose masks are kept
  bool score_dropout{};    ///< of attention's scores, whose masks are kept with what they leave
  bool tied_embeddings{true};
  bool embedding_norm{false};        ///< a layer norm right after the embedding (BLOOM)
  std::int64_t window{};             ///< tokens that windowed layers attend to; 0: there are none
  std::int64_t chunk{};              ///< tokens of a chunk of chunked layers; 0: there are none
  std::int64_t full_every{};         ///< of these, the last of every so many is neither; 0: all are
  std::int64_t next_token_layers{};  ///< multi-token prediction: further layers with a head each
  Experts experts;
  LatentAttention latent;
  StateSpace state_space;
  LinearAttention linear_attention;
  Indexer indexer;
  CompressedAttention compression;
  WindowHeads windowed;
  std::int64_t short_conv{};  ///< tokens that a gated convolution sees; 0: the model has none
  std::int64_t value_head{};  ///< size of a value head of plain attention; 0: head_dim
  bool output_gate{};         ///< a sigmoid of the token scales what attention gives, by channel
  bool keys_are_values{};     ///< in full layers one projection gives both (Gemma 4)
  std::int64_t streams{1};    ///< residual streams that sublayers mix (hyper-connections)
  std::int64_t
      block_residuals{};      ///< sublayers between sums that all later ones attend to; 0: none
  bool repeats_next_token{};  ///< all depths of multi-token prediction share one's parameters
  /// The last so many layers learn, as the plan has it; 0: all. Layers before them are frozen.
  std::int64_t learning_layers{};
  bool scores{};  ///< the head gives each token one score instead of words (a reward model)
  std::int64_t other_parameters{};   ///< that no layer's work tells, such as a vision tower's
  std::vector<LayerKind> pattern{};  ///< each layer, where no arithmetic says what it is
  std::vector<LayerKind> mixers{};   ///< of layers whose feed arithmetic says; they repeat
  std::vector<LayerKind> next_token_pattern{};  ///< a depth of multi-token prediction; empty: one
                                                ///< more layer like the last

  [[nodiscard]] bool has_experts() const { return experts.count > 0; }
  [[nodiscard]] bool is_latent() const { return latent.kv_rank > 0; }
  /// Tests whether latent attention sees keys that an indexer chooses.
  [[nodiscard]] bool chooses_keys() const { return indexer.heads > 0 && is_latent(); }
  /// Width of the tokens that routed experts work on.
  [[nodiscard]] std::int64_t expert_width() const {
    return experts.latent > 0 ? experts.latent : hidden;
  }
  /// Size of a head of queries and keys, and of values.
  [[nodiscard]] std::int64_t key_dim() const {
    return is_latent() ? latent.nope + latent.rope : head_dim;
  }
  [[nodiscard]] std::int64_t value_dim() const {
    return is_latent() ? latent.value : value_head > 0 ? value_head : head_dim;
  }
  /// Width of the packed query, key and value projection of plain attention.
  [[nodiscard]] std::int64_t qkv_width() const {
    return (heads + kv_heads) * head_dim + kv_heads * value_dim();
  }
  /// Width of the attention output before its projection.
  [[nodiscard]] std::int64_t attention_width() const { return heads * value_dim(); }
  /// Inner width of a layer's MLP.
  [[nodiscard]] std::int64_t inner_of(LayerKind kind) const {
    return kind.inner > 0 ? kind.inner : ffn_hidden;
  }
  /// Width of the first MLP product: twice the inner width when it is gated.
  /// The same for experts or an MLP of inner width `inner`.
  [[nodiscard]] std::int64_t in_width(std::int64_t inner) const {
    return is_gated(mlp) ? 2 * inner : inner;
  }
  /// How far layers see that are not the last of every `full_every`.
  [[nodiscard]] AttentionSpan usual_span() const {
    return window > 0  ? AttentionSpan::window
           : chunk > 0 ? AttentionSpan::chunk
                       : AttentionSpan::full;
  }
  /// How many layers come before the first that learns.
  [[nodiscard]] std::int64_t frozen_layers() const {
    return learning_layers > 0 && learning_layers < layers ? layers - learning_layers : 0;
  }
  /// Returns the kind of the layer with this number, from 0.
  [[nodiscard]] LayerKind kind_of(std::int64_t layer) const;
  /// The layers of one depth of multi-token prediction.
  [[nodiscard]] std::vector<LayerKind> next_token_kinds() const;
  /// Tests whether arithmetic makes all layers of one kind.
  [[nodiscard]] bool is_uniform() const;
};

inline constexpr int kMostKinds = 16;  ///< distinct sublayers of one model; readers refuse more

/// The distinct kinds of the model's layers, those of multi-token prediction included, in an order
/// that depends on the kinds alone.
std::vector<LayerKind> distinct_kinds(const Transformer& model);

/// The vocabulary padded so that `tp` ranks hold equal, aligned parts (Megatron's
/// `--make-vocab-size-divisible-by`): the next multiple of `multiple`·tp.
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tp, std::int64_t multiple);
/// Returns how many outputs of the head a rank of `tp` has for each token: its part of the padded
/// vocabulary, or the one score.
std::int64_t head_outputs(const Transformer& model, std::int64_t tp, std::int64_t multiple);

/// Reads a `prequel/model/1` file (Hugging Face's field names). Throws InputError with every
/// problem of the file.
Transformer read_transformer(const Document& file);

}  // namespace prequel
