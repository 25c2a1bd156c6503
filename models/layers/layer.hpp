#pragma once

/// A layer, told once: what one micro batch asks of one rank in the forward pass, piece by piece.
/// Everything else follows from it and is read off by the readers of this folder: kernels forward,
/// backward and repeated (operators.hpp), parameters (parameters.hpp), what is kept for the
/// backward pass (kept.hpp), FLOP (flops.hpp). Shapes follow Megatron-LM (column-parallel first,
/// row-parallel second product of each pair).

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/kernels/mixers.hpp"
#include "hw/kernels/quantize.hpp"
#include "models/layers/group_axis.hpp"
#include "models/layers/setting.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {

/// A linear layer: the product of the forward pass, its dgrad and its wgrad.
struct LinearLayer {
  std::int64_t rows{};
  std::int64_t outputs{};
  std::int64_t inputs{};
  Precision precision{};
  std::int64_t experts{};  ///< of the rank, which share the rows evenly; 0: no experts
  bool detached{};         ///< its input gets no gradient
};

/// Scores, softmax and context: one flash kernel, or products with passes over the scores.
struct AttentionCore {
  FusedAttention shape;
  AttentionKind kind{};
  double score_forward_bytes{}, score_backward_bytes{};  ///< passes over scores; not flash
  Precision score_precision{};  ///< of the products that make scores; not flash
  /// Times that scores are made once more forward, for a loss whose gradients leave them alone.
  std::int64_t targets{};
};

/// Memory-bound kernels, forward and backward.
struct PointwiseKernels {
  StreamKind kind{StreamKind::fused_pointwise};
  double forward{}, backward{};  ///< bytes
  double handed{};               ///< share of these that one kernel leaves to the next
  double tensor{};               ///< bytes of what it leaves, at most
};

/// Casts of the operands of products to a narrow format: inputs forward, gradients backward, and
/// weights in either pass.
struct Casts {
  double forward{}, backward{};  ///< elements
  CastRecipe recipe{};
  bool both_orders{true};  ///< see Cast
};

/// A collective of each pass over one group. Gather and scatter are each other's backward.
struct LayerCollective {
  GroupAxis axis{};
  Bytes bytes{};  ///< nccl-tests convention
  std::optional<CollectiveOp> forward, backward;
  bool beside_dgrad{};  ///< backward it goes on beside the dgrad of the linear layer that follows
};

/// Keys and values that go round a ring of context ranks behind the attention that they feed.
struct KeyValueRing {
  Bytes bytes{};      ///< of one step
  Bytes gradients{};  ///< that go beside them backward
};

/// Tokens to their experts, and the results back; the backward pass has the opposite.
struct TokenTransfer {
  Dispatch what;
  Precision to_experts{Precision::bf16};  ///< what goes there; what comes back is `what.precision`
};

struct LayerPiece {
  std::string_view name;
  std::variant<LinearLayer, AttentionCore, Scan, SparseAttention, PointwiseKernels, Casts,
               LayerCollective, KeyValueRing, TokenTransfer>
      what;
  Module module{Module::other};
  std::int64_t parameters{};  ///< of the whole tensors, before any split
  bool of_experts{};          ///< split over the experts' groups; others over the tensor group
  double kept{};              ///< bytes of results for the backward pass, on this rank
  double operator_share{1};   ///< of it, repeated where operators are (Module::operators)
  std::optional<OffloadModule> feeds{};  ///< whose input the kept results are
  bool ends_layer{};                     ///< no backward needs its results
  /// True where its parameters learn: a frozen piece has no product of weight gradients, no
  /// gradients, no states, and keeps no input for them.
  bool learns{true};
  double result{};  ///< bytes of the result, kept in place of `kept` if by its name

  /// How much of it a set repeats.
  [[nodiscard]] double repeated_share(WordSet<Module> repeated) const {
    if (repeated.has(module)) return 1.0;
    return repeated.has(Module::operators) ? operator_share : 0.0;
  }
};

/// The pieces in the order of the forward pass.
struct Layer {
  std::vector<LayerPiece> pieces;
  double input{};  ///< bytes of what comes in, which the backward pass needs in any case
  /// Bytes of it that this rank keeps until the whole layer is repeated; the rest is gathered then.
  double saved_input{};
  Bytes input_gather{};     ///< over the tensor group, nccl-tests convention; a mean over layers
  std::int64_t adapters{};  ///< of the rank
  bool detached{};  ///< no gradient passes it: it has a forward pass alone, and keeps nothing
};

/// What is copied around the graph of a sublayer's modules, in hidden states of its tokens: graphs
/// read and write buffers of their own, so that inputs are copied there forward, and backward the
/// gradients of results (Transformer Engine's graph.py, from memory).
struct GraphCopies {
  double inputs{}, results{};
};
GraphCopies graph_copies(const Transformer& model, LayerKind kind, WordSet<GraphedModule> graphs);

/// Returns the parameters of one norm over the hidden state.
std::int64_t norm_parameters(const Transformer& model);

/// One block. Throws InputError for an attention that the stack does not have.
Layer tell_block(const Transformer& model, LayerKind kind, const LayerSetting& setting,
                 const Software& software);
/// The word embedding (and learned positions).
Layer tell_embedding(const Transformer& model, const LayerSetting& setting,
                     const Software& software);
/// Final norm, logits and cross-entropy.
Layer tell_head(const Transformer& model, const LayerSetting& setting, const Software& software);
/// A layer of multi-token prediction before its block and its head: two norms and a projection of
/// hidden state and embedding together (DeepSeek-V3, arXiv 2412.19437, section 2.2).
Layer tell_next_token(const Transformer& model, const LayerSetting& setting,
                      const Software& software);

}  // namespace prequel
