#pragma once

/// The kinds of layers that a model is a list of.

#include <compare>
#include <cstdint>

namespace prequel {

/// Which of the tokens before it a token attends to: all, the last of them, or those of its own
/// chunk, the first of which sees itself alone (Llama 4).
enum class AttentionSpan : std::uint8_t { full, window, chunk };

/// The mixer of a sequence's tokens in a sublayer.
enum class Mixer : std::uint8_t {
  none,
  attention,                  ///< softmax attention; latent where the model has it
  sparse,                     ///< of it a sparse core, over keys that an indexer chooses
  sparse_shared,              ///< the same over what an earlier layer chose
  state_space,                ///< Mamba
  delta_net,                  ///< gated delta net
  kimi_delta,                 ///< Kimi delta attention
  lightning,                  ///< linear attention with a fixed decay
  attention_and_state_space,  ///< side by side on one norm
  window_alone,               ///< compressed attention without compressed keys
  compressed,                 ///< by 4, with an indexer
  compressed_far,             ///< by 128
  short_conv,                 ///< a gated convolution of a few tokens (LFM2)
  block_sparse                ///< attention to blocks of keys that an index branch chooses
};

/// Tests whether softmax attention, dense or sparse, is all or a part of the mixer.
constexpr bool is_softmax(Mixer mixer) {
  switch (mixer) {
    case Mixer::none:
    case Mixer::state_space:
    case Mixer::delta_net:
    case Mixer::kimi_delta:
    case Mixer::lightning:
    case Mixer::short_conv: return false;
    default: return true;
  }
}

/// The part of a sublayer that works token by token. Experts are chosen by their scores, or
/// (hashed) by the token itself.
enum class Feed : std::uint8_t { none, mlp, experts, hashed_experts };

/// The kind of a sublayer. A usual transformer block has a mixer and a feed; layers of hybrid
/// models have one of the two.
struct LayerKind {
  Feed feed{Feed::mlp};
  Mixer mixer{Mixer::attention};
  AttentionSpan span{};
  bool frozen{};         ///< nothing of it learns, where the last layers alone do
  std::int32_t inner{};  ///< inner width of its MLP where layers differ in it; 0: the model's

  [[nodiscard]] bool has_experts() const {
    return feed == Feed::experts || feed == Feed::hashed_experts;
  }
  /// Norms with something behind them.
  [[nodiscard]] int sublayers() const {
    return (mixer == Mixer::none ? 0 : 1) + (feed == Feed::none ? 0 : 1);
  }
  auto operator<=>(const LayerKind&) const = default;
};

}  // namespace prequel
