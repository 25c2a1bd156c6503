#pragma once

/// The vocabulary in which models/ asks and hw/ answers: what one device, or a group of them, is
/// asked to do. No prices here.

#include <compare>
#include <cstdint>

#include "hw/base/units.hpp"

namespace prequel {

/// Number format of matrix products.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8 };

/// Bytes of one stored element in the format (tf32 is stored as fp32).
constexpr double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return 4.0;
    case Precision::fp16:
    case Precision::bf16: return 2.0;
    case Precision::fp8: return 1.0;
  }
  return 0.0;
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

/// Fused (flash) self-attention over `batch` sequences of `seq` tokens.
struct FusedAttention {
  std::int64_t batch{};
  std::int64_t seq{};
  std::int64_t heads{};
  std::int64_t kv_heads{};
  std::int64_t head_dim{};
  bool causal{true};
  bool backward{false};
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
};

/// A memory-bound kernel that moves `bytes` of compulsory traffic.
struct Stream {
  StreamKind kind{StreamKind::fused_pointwise};
  Bytes bytes{};
  double rows{};  ///< tokens that it works on, each by one thread block; 0: not row by row
};

enum class CollectiveOp : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  send_recv
};

}  // namespace prequel
