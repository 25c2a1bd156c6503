#pragma once

/// What one micro batch asks of one tensor-parallel rank: the operators of a transformer block, of
/// the embedding and of the head, forward and backward, in the vocabulary of hw/vocabulary.hpp.
/// Shapes follow Megatron-LM (column-parallel first, row-parallel second product of each pair).

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/vocabulary.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// A collective over the tensor-parallel group; bytes in the nccl-tests convention.
struct TensorCollective {
  CollectiveOp op{};
  Bytes bytes{};
};

struct Operator {
  std::string_view name;
  std::variant<Gemm, FusedAttention, Stream, TensorCollective, Seconds>
      what;  ///< Seconds: measured
};

/// Everything that the operators of a layer depend on.
struct LayerSetting {
  std::int64_t mbs{1};
  std::int64_t seq_len{1};
  std::int64_t tp{1};
  bool sequence_parallel{};
  Precision precision{};
  AttentionKind attention{};

  bool operator==(const LayerSetting&) const = default;
};

using Operators = std::vector<Operator>;

/// Forward pass of one block.
Operators block_forward(const Transformer& model, const LayerSetting& setting,
                        const Software& software);
/// Backward pass of one block, without what is recomputed.
Operators block_backward(const Transformer& model, const LayerSetting& setting,
                         const Software& software);
/// What the backward pass repeats first: nothing, the core of attention, or the forward pass.
Operators block_recompute(const Transformer& model, const LayerSetting& setting,
                          const Software& software, Recompute mode);

Operators embedding_forward(const Transformer& model, const LayerSetting& setting);
Operators embedding_backward(const Transformer& model, const LayerSetting& setting);
/// Final norm, logits and cross-entropy.
Operators head_forward(const Transformer& model, const LayerSetting& setting,
                       const Software& software);
Operators head_backward(const Transformer& model, const LayerSetting& setting,
                        const Software& software);

}  // namespace prequel
