#pragma once

/// Shapes of the token mixers that are no plain softmax attention, whole, before any split.

#include <cstdint>

namespace prequel {

/// A state-space layer: Mamba-2, or Mamba-1 where `dt_rank` says so.
struct StateSpace {
  std::int64_t heads{};  ///< 0: the model has none; of Mamba-1 one a channel
  std::int64_t head_dim{};
  std::int64_t state{};
  std::int64_t groups{1};   ///< of heads that share B and C
  std::int64_t conv{4};     ///< width of the convolution
  std::int64_t chunk{128};  ///< tokens that the scan works on as one
  std::int64_t dt_rank{};   ///< of Mamba-1; 0: Mamba-2
  bool gated_norm{true};    ///< a norm of its own before the output projection

  [[nodiscard]] bool is_selective() const { return dt_rank > 0; }
  [[nodiscard]] std::int64_t inner() const { return heads * head_dim; }
  /// Channels of the convolution.
  [[nodiscard]] std::int64_t conv_width() const {
    return is_selective() ? inner() : inner() + 2 * groups * state;
  }
  /// Outputs of the first projection.
  [[nodiscard]] std::int64_t in_width() const {
    return is_selective() ? 2 * inner() : 2 * inner() + 2 * groups * state + heads;
  }

  bool operator==(const StateSpace&) const = default;
};

/// Linear attention: a gated delta net, Kimi's with a decay a channel, or lightning attention.
struct LinearAttention {
  std::int64_t key_heads{};  ///< 0: the model has none
  std::int64_t value_heads{};
  std::int64_t key_dim{};
  std::int64_t value_dim{};
  std::int64_t conv{4};        ///< width of the convolution; 0: none
  bool full_rank_gate{false};  ///< of Kimi delta attention

  [[nodiscard]] std::int64_t keys() const { return key_heads * key_dim; }
  [[nodiscard]] std::int64_t values() const { return value_heads * value_dim; }

  bool operator==(const LinearAttention&) const = default;
};

/// Attention of each query over the keys that an indexer chooses for it (DeepSeek-V3.2,
/// arXiv 2512.02556), one by one or in blocks (MiniMax-M3).
struct Indexer {
  std::int64_t heads{};  ///< 0: the model has none
  std::int64_t head_dim{};
  std::int64_t top_k{};
  std::int64_t block{1};  ///< keys that are chosen as one

  bool operator==(const Indexer&) const = default;
};

/// Attention over the last tokens and over compressed ones (DeepSeek-V4): every `ratio` tokens
/// become one key, of which an indexer chooses some where the ratio is small.
struct CompressedAttention {
  std::int64_t window{};      ///< 0: the model has none
  std::int64_t out_groups{};  ///< of heads, whose outputs are projected to `out_rank` each
  std::int64_t out_rank{};

  bool operator==(const CompressedAttention&) const = default;
};

/// Heads of windowed layers where they differ from those of full ones; 0: they do not.
struct WindowHeads {
  std::int64_t heads{};
  std::int64_t kv_heads{};
  std::int64_t head_dim{};

  bool operator==(const WindowHeads&) const = default;
};

}  // namespace prequel
