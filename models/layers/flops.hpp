#pragma once

/// Floating-point operations of one training iteration, by prequel's own count and by the formulas
/// that published tables used. A utilisation means something only beside its convention.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hw/base/units.hpp"
#include "models/layers/setting.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// The sizes that the count depends on beside the model.
struct StepShape {
  std::int64_t gbs{};      ///< sequences
  std::int64_t seq_len{};  ///< tokens of one
  std::int64_t vocab{};    ///< padded
  std::int64_t tp{1};      ///< only `bs-noemb` asks for it
  Recompute recompute{};
  AttentionKind attention{};
  double repeated_blocks{1.0};  ///< share of the blocks that repeat; only `prequel` asks for it
  bool stops_early{};           ///< KernelStack::recompute_stops_early; `prequel` alone, too
  std::int64_t seen_len{};      ///< LayerSetting::seen_len; these two alone, as what follows
  Learning learning{};          ///< `prequel` and `causal` alone: frozen matrices have no wgrad
};

/// Model FLOPs: forward and backward, nothing repeated. Hardware FLOPs: with what is recomputed.
struct StepFlops {
  Flops model;
  Flops hardware;
};

enum class FlopsConvention : std::uint8_t {
  prequel,  ///< products counted one by one, attention in full (causal mask not halved)
  megatron_hw,  ///< 24·k·B·s·l·h²·(1 + s/(6h) + V/(16·l·h)), k = 4 with full recompute, else 3:
                ///< arXiv 2104.04473 eq. 3; the model count has k = 3 and V/(12·l·h)
  bs_noemb,     ///< 2·k·s·B·P', P' = l·(12h² + 7h + 6h·tp): BigScience before 2022-02-21
  mosaic_2023,  ///< 2·k·s·B·P + (k - 1)·B·l·2·h·s²: MosaicGPT tables; P with all embeddings
  mosaic_2023_star,  ///< the same without the attention term (their MFU*, HFU*)
  causal,            ///< as `prequel`, but of pairs that the causal mask lets see each other alone:
                     ///< Megatron-Core from 2025-09 on, NeMo and Megatron-Bridge
  bridge_hybrid,     ///< Megatron-Bridge's of hybrids, of gated delta nets, of sparse attention and
  bridge_gdn,        ///< of compressed attention: models/layers/bridge_flops.hpp
  bridge_dsa,
  bridge_dsv4
};
inline constexpr std::array<std::string_view, 10> kFlopsConventionNames{
    "prequel", "megatron-hw",   "bs-noemb",   "mosaic-2023", "mosaic-2023-star",
    "causal",  "bridge-hybrid", "bridge-gdn", "bridge-dsa",  "bridge-dsv4"};

constexpr std::string_view name(FlopsConvention convention) {
  return kFlopsConventionNames[static_cast<std::size_t>(convention)];
}
std::optional<FlopsConvention> flops_convention(std::string_view name);

/// FLOPs of one iteration over the whole cluster.
StepFlops step_flops(const Transformer& model, const StepShape& step,
                     FlopsConvention convention = FlopsConvention::prequel);

}  // namespace prequel
