#pragma once

/// Cost of a fused (flash) attention kernel on one device.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/kernels/rates.hpp"
#include "hw/terms/price_explanation.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// Constants of one pass of a kernel for one head size:
///
///     arithmetic = FLOP·(1 + saturation / L) / (efficiency·P)
///                + tail·2·128·(d + dv)·L / (efficiency·P / U)
///     traffic    = bytes of q, k, v and o / (memory_fraction·R)
///     t          = launch + sqrt(arithmetic² + traffic²)
///
/// with L the keys that a query sees at most, d and dv the head sizes of keys and values, P the
/// half-precision peak (of 8-bit kernels too), U the compute units and R the HBM rate. Saturation
/// is the loss on short rows; the tail is the longest block of 128 queries, which runs on one
/// compute unit. Backward moves twice the bytes (o and the gradients too). Source: form fitted to
/// public tables of FlashAttention 2 and 3 on A100 and H100, TensorRT-LLM's on H100 to GB300.
struct AttentionPass {
  double efficiency{};  ///< of peak; above 1 in 8-bit kernels
  double saturation_tokens{};
  Seconds launch{};
  double tail{};
  double memory_fraction{1.0};  ///< of the HBM rate
  double flop_factor{1.0};      ///< FLOP of this pass over those of the forward pass
};

struct AttentionHeadSize {
  double head_dim{};   ///< of queries and keys
  double value_dim{};  ///< less than head_dim in latent attention
  bool fp8{};          ///< of queries, keys and values; else two bytes
  AttentionPass forward;
  AttentionPass backward;

  [[nodiscard]] bool latent() const { return value_dim != head_dim; }
};

/// The cost of a kernel that a window keeps short of arithmetic: in place of saturation and tail a
/// fixed time of each block of 128 queries of a head, and more for keys at the window's edges,
/// which are masked one by one,
///
///     arithmetic = (FLOP(L) + edge·FLOP(min(L, 128 + 128/g))) / (efficiency·P)
///                + block·b·a·ceil(s / 128) / U       (8-bit kernels: block·fp8_factor)
///
/// FLOP and block time by the pass' FLOP factor; forward, the g heads that share keys are rows of
/// one block, which then covers 128/g positions. Source: form fitted to tables of TensorRT-LLM's,
/// SGLang's and vLLM's kernels with windows of 128 on H100 to GB300: cuDNN's on other numbers of
/// heads within 4 to 6 % on Blackwell, within 13 to 17 % by launch and traffic alone.
struct WindowedAttention {
  Seconds launch{};
  double memory_fraction{1.0};  ///< of the HBM rate
  Seconds block{};              ///< of 128 queries of one head on a compute unit
  double edge{};                ///< what masked keys take more, of their arithmetic
  double fp8_factor{1.0};       ///< a block of 8 bits over one of 16
};

/// One generation of a kernel, e.g. "flash-2".
struct AttentionKernel {
  std::string name;
  std::vector<std::string> measured_as;       ///< names of the same kernel in measurement tables
  bool skips_masked{true};                    ///< a causal mask halves the work
  std::vector<AttentionHeadSize> head_sizes;  ///< by rising head_dim, at least one
  std::optional<WindowedAttention> window;    ///< nothing: as without one
};

/// The kernel of that name (or measured under that name); else the nearest: for "flash-N" that of
/// the nearest generation, the older of two; for any other name that of the newest, or the first
/// where none is a "flash-N". `kernels` has one.
const AttentionKernel& nearest_kernel(std::span<const AttentionKernel> kernels,
                                      std::string_view name);

/// Arithmetic that the kernel does: 2·b·a·pairs·(d + dv) forward, times the pass' factor. Pairs of
/// query and key are s·keys; where a causal mask is skipped half of them; with a window that of
/// u = L / keys, L = window + 128 as blocks are whole (128/g: above), u·(1 - u/2). Chunks are
/// sequences of their own: of them each query sees half of its own.
Flops flops(const AttentionKernel& kernel, const FusedAttention& attention);

/// Time of one pass, without the host's launch; `rates.peak` is that of 16-bit formats. Constants
/// between two head sizes are interpolated, outside them the nearest size counts; values of
/// another size than keys and 8-bit formats take the constants of the nearest that was measured.
Seconds price(const AttentionKernel& kernel, const DeviceRates& rates,
              const FusedAttention& attention);

/// The same, taken apart; `constants` stays empty.
PriceExplanation explain_price(const AttentionKernel& kernel, const DeviceRates& rates,
                               const FusedAttention& attention);

/// Returns the kernel's constants that stand in for others: "fp8 by two-byte constants, head size
/// 512 by that of 256"; empty where none do.
std::string stand_in(const AttentionKernel& kernel, const FusedAttention& attention);

}  // namespace prequel
