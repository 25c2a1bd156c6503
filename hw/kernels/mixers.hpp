#pragma once

/// Cost of kernels of token mixers that are no dense softmax attention: scans of state-space and
/// linear-attention layers, attention over chosen keys, and the scores by which keys are chosen.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hw/terms/price_explanation.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// The recurrence of a scan, each with a kernel of its own.
enum class ScanKind : std::uint8_t {
  ssd,        ///< state-space duality (Mamba-2, arXiv 2405.21060)
  selective,  ///< Mamba's selective scan (arXiv 2312.00752)
  gdn,        ///< gated delta rule (arXiv 2412.06464)
  kda,        ///< the same with a decay a channel (Kimi Linear, arXiv 2510.26692)
  lightning   ///< linear attention with a fixed decay a head (arXiv 2401.04658)
};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<ScanKind>{"ssd", "selective", "gdn",
                                                                    "kda", "lightning"};

/// One pass of a scan over `batch` sequences of `seq` tokens, on one rank.
struct Scan {
  ScanKind kind{};
  std::int64_t batch{};
  std::int64_t seq{};
  std::int64_t heads{};      ///< of values
  std::int64_t key_heads{};  ///< heads of keys, or groups of states
  std::int64_t key_dim{};    ///< of keys; the state of ssd
  std::int64_t value_dim{};
  std::int64_t chunk{64};  ///< tokens that the kernel works on as one
  bool backward{};

  [[nodiscard]] double tokens() const { return static_cast<double>(batch * seq); }
};

/// FLOP of the products of the chunk form; backward twice as many.
Flops scan_flops(const Scan& scan);

/// Constants of one kind of scan: kernels work in parallel over sequences and heads, and one after
/// the other along the sequence,
///
///     t = launch + tokens·(heads·token_head + key_heads·token_key_head)·size + seq·step
///
/// where `size` is the FLOP of a head over those of a head of the size that was measured. Backward
/// `backward_factor` times that. Source: form and constants fitted to public kernel benchmarks
/// (ai-dynamo/aiconfigurator), backward to flash-linear-attention's on GB200.
struct ScanKernel {
  Seconds launch{};
  Seconds token_head{};
  Seconds token_key_head{};
  Seconds step{};
  std::int64_t key_dim{1}, value_dim{1};  ///< of the shapes measured
  double backward_factor{};
  double error{};  ///< relative, of shapes that were not fitted
};

Seconds price(const ScanKernel& kernel, const Scan& scan);
PriceExplanation explain_price(const ScanKernel& kernel, const Scan& scan);

/// Attention of each query over `keys` chosen keys, or (`is_indexer`) the scores by which they are
/// chosen, on one rank.
struct SparseAttention {
  double queries{};
  double keys{};  ///< a query; of indexers a mean over queries
  std::int64_t heads{};
  std::int64_t key_dim{};
  std::int64_t value_dim{};  ///< 0 for indexers
  bool is_indexer{};
  bool backward{};

  /// Forward q·k and p·v; backward the first again, and two products for each.
  [[nodiscard]] Flops flops() const;
};

/// Rates of one such kernel. Forward works on `tile_heads` heads at once, whatever there are.
struct SparseKernel {
  Seconds launch{}, backward_launch{};
  FlopsPerSecond rate{}, backward_rate{};
  std::int64_t tile_heads{1};
  double error{};  ///< relative
};

Seconds price(const SparseKernel& kernel, const SparseAttention& attention);
PriceExplanation explain_price(const SparseKernel& kernel, const SparseAttention& attention);

/// Those that a device has constants for.
struct MixerKernels {
  std::array<std::optional<ScanKernel>, kWordsOf<ScanKind>.size()> scans;
  std::optional<SparseKernel> sparse_core, indexer;
};

}  // namespace prequel
