#pragma once

/// The vocabulary in which models/ asks and hw/ answers: what one device, or a group of them, is
/// asked to do. No prices here.

#include <compare>
#include <cstdint>

#include "hw/base/units.hpp"
#include "hw/base/words.hpp"

namespace prequel {

/// Number format of the operands of matrix products, with the scales that it carries. The first
/// six are what a plan's `precision` says; a recipe refines fp8 to the others.
enum class Precision : std::uint8_t {
  fp32,
  tf32,
  fp16,
  bf16,
  fp8,        ///< one scale a tensor
  fp4,        ///< NVFP4: a scale for every 16 elements and one a tensor
  fp8_block,  ///< scales for 1 x 128 activations and 128 x 128 weights
  mxfp8,      ///< a scale for every 32 elements
  fp8_row     ///< a scale for every row of the left operand and column of the right one
};
template <>
inline constexpr std::array<std::string_view, 9> kWordsOf<Precision>{
    "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "fp8-block", "mxfp8", "fp8-row"};

/// Bytes of one stored element, with its share of the scales (tf32 is stored as fp32).
constexpr double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return 4.0;
    case Precision::fp16:
    case Precision::bf16: return 2.0;
    case Precision::fp8:
    case Precision::fp8_row: return 1.0;
    case Precision::fp4: return 0.5 + 1.0 / 16;
    case Precision::fp8_block: return 1.0 + 4.0 / 128;
    case Precision::mxfp8: return 1.0 + 1.0 / 32;
  }
  return 0.0;
}

/// Tests whether products in the format need their operands cast to it, as no tensor is kept in it.
constexpr bool is_quantized(Precision precision) {
  return precision >= Precision::fp8;
}

/// Which of the three products of a linear layer a GEMM is; in cuBLAS' column-major terms forward
/// is TN, dgrad NN and wgrad NT (accumulating into the gradient).
enum class GemmPass : std::uint8_t { forward, dgrad, wgrad };

/// C[m,n] = A[m,k]·B[k,n], `batch` times: 2·m·n·k·batch FLOP.
struct Gemm {
  std::int64_t m{};
  std::int64_t n{};
  std::int64_t k{};
  std::int64_t batch{1};
  Precision precision{Precision::bf16};
  GemmPass pass{GemmPass::forward};

  auto operator<=>(const Gemm&) const = default;
};

/// The products of the experts of one rank, each with weights of its own: one linear layer of
/// `inputs` -> `outputs` for `groups` experts that share `rows` tokens evenly.
struct GroupedGemm {
  std::int64_t groups{1};
  std::int64_t rows{};  ///< tokens of all groups together
  std::int64_t outputs{};
  std::int64_t inputs{};
  Precision precision{Precision::bf16};
  GemmPass pass{GemmPass::forward};
  std::int64_t padding{1};  ///< the rows of a group are filled up to a multiple of it
  bool one_launch{true};    ///< one kernel for all groups; else one kernel a group

  auto operator<=>(const GroupedGemm&) const = default;
};

/// Fused (flash) attention of `batch` sequences: `seq` queries over `kv_seq` keys and values.
struct FusedAttention {
  std::int64_t batch{};
  std::int64_t seq{};
  std::int64_t heads{};
  std::int64_t kv_heads{};
  std::int64_t head_dim{};  ///< of queries and keys
  bool causal{true};        ///< half of all pairs of query and key count
  bool backward{false};
  std::int64_t value_dim{};  ///< of values; 0: head_dim
  std::int64_t kv_seq{};     ///< keys and values; 0: seq
  std::int64_t window{};     ///< keys that a query sees; 0: all
  Precision precision{Precision::bf16};
  std::int64_t chunk{};  ///< of so many keys, the last of fewer, and a query sees its own; 0: all

  [[nodiscard]] std::int64_t value_size() const { return value_dim > 0 ? value_dim : head_dim; }
  [[nodiscard]] std::int64_t keys() const { return kv_seq > 0 ? kv_seq : seq; }
  /// Keys in the chunk of a query, a mean over all queries; the causal mask lets it see half.
  [[nodiscard]] double mean_chunk() const {
    const std::int64_t all = keys();
    if (chunk <= 0 || chunk >= all) return static_cast<double>(all);
    const std::int64_t rest = all % chunk;
    return static_cast<double>((all - rest) * chunk + rest * rest) / static_cast<double>(all);
  }
};

/// Kinds of memory-bound kernels; each has its own bandwidth efficiency on a device.
enum class StreamKind : std::uint8_t {
  fused_pointwise,  ///< a well-fused kernel of no special kind: the default of training stacks
  residual_add,
  layer_norm,
  rms_norm,
  gelu,
  swiglu,
  rope,
  embedding,
  softmax,        ///< passes over the attention scores
  cross_entropy,  ///< passes over the logits
  optimizer,
  copy,
  permute,           ///< tokens into the order of their experts, and back
  convolution,       ///< short and causal, a channel each, with its activation
  streams_in,        ///< of residual streams (hyper-connections) a weighted sum
  streams_out,       ///< the streams mixed, and a result added
  router,            ///< scores of experts, the best of them, the maps from tokens to experts
  quantize,          ///< to a format with scales that are known (delayed): one pass
  quantize_current,  ///< one scale a tensor, after a pass for the largest element
  quantize_block,    ///< scales for 1 x 128 elements
  quantize_mxfp8,
  quantize_nvfp4,
  quantize_absmax,  ///< as `quantize_current`, by two kernels that nothing fuses
  quantize_row,     ///< one scale a row
};

/// A memory-bound kernel that moves `bytes` of compulsory traffic.
struct Stream {
  StreamKind kind{StreamKind::fused_pointwise};
  Bytes bytes{};
  double rows{};  ///< tokens that it works on, each by one thread block; 0: not row by row
  /// The bytes that one of several kernels leaves to the next, in tensors of that size at most.
  Bytes handed{}, tensor{};
};

enum class CollectiveOp : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  send_recv
};

/// Who carries tokens to their experts and back.
enum class Dispatcher : std::uint8_t {
  allgather,  ///< every rank gets all tokens
  alltoall,   ///< NCCL: a copy for each expert chosen
  deepep,     ///< a copy for each rank in the domain, one for each node beyond
  hybridep,   ///< the same by the bulk copies of Hopper and Blackwell
  uccl        ///< DeepEP's transfers sent by the host's processors (UCCL-EP), as on EFA
};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<Dispatcher>{"allgather", "alltoall",
                                                                      "deepep", "hybridep", "uccl"};

/// One transfer of tokens to their experts, or of the results back, over an expert-parallel group.
/// Formulas of bytes are in hw/dispatch.hpp.
struct Dispatch {
  Dispatcher dispatcher{};
  bool combine{};         ///< results back to where the tokens came from
  double tokens{};        ///< of one rank, before copies
  std::int64_t hidden{};  ///< elements of a token
  Precision precision{Precision::bf16};
  std::int64_t top_k{1};          ///< experts chosen for a token
  std::int64_t experts{};         ///< of all ranks; 0: so many that none is drawn twice anyway
  std::int64_t expert_groups{1};  ///< of group-limited routing
  std::int64_t groups_chosen{1};  ///< of these, for a token
};

}  // namespace prequel
