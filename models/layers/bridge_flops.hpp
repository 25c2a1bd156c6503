#pragma once

/// FLOPs of a token as Megatron-Bridge prints them of models that are no plain transformers
/// (NVIDIA-NeMo/Megatron-Bridge @067f987df0, training/utils/flop_utils.py). They differ from the
/// work done by up to 9 %: the first takes the inner width of a state-space layer for twice the
/// hidden size, whatever it is; no router is counted, nor in hybrids the projection of multi-token
/// prediction.

#include <cstdint>

#include "models/shape/transformer.hpp"

namespace prequel {

/// Returns the FLOP per token, forward and backward, of hybrids told by a pattern of sublayers.
double bridge_hybrid_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab);
/// Returns the same for blocks of gated delta nets and attention.
double bridge_gdn_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab);
/// Returns the same for latent attention over chosen keys, with the sparse loss of the indexer.
double bridge_dsa_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab);
/// Returns the same for attention over a window and compressed keys (DeepSeek-V4). The terms were
/// not read but chosen so that they give the printed count of V4 Flash (90.78 GFLOP at 4096 tokens,
/// to 0.01 %): all products, a whole window, the keys chosen, half of the far ones; no scores of
/// the indexer and no mixes of streams.
double bridge_dsv4_flops(const Transformer& model, std::int64_t seq_len, std::int64_t vocab);

}  // namespace prequel
