#pragma once

/// Peak memory of the devices of each pipeline stage, by kind. Equations: mixed-precision states as
/// in ZeRO (arXiv 1910.02054), activations as in arXiv 2205.05198; constants of the stack come from
/// its software file.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hw/base/words.hpp"
#include "hw/device.hpp"
#include "models/layers/parameters.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/stages.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// The bytes of one device at its fullest moment.
struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;  ///< checkpoints or full activations of the micro batches in flight
  Bytes buffers;      ///< the live layer, logits, gathered weights, reduction buckets, workspaces
  Bytes framework;    ///< context, libraries, communication buffers, allocator's cache
  Bytes allocator_cache;  ///< the part of `framework` that the allocator gives back under pressure
  Bytes paged;            ///< the part of `optimizer` that moves to host memory where room is short
  Bytes offloaded;        ///< states and activations that host memory holds in place of the device

  /// All of it, as nvidia-smi would print it on a device without limit.
  [[nodiscard]] Bytes total() const { return allocated() + paged + framework; }
  /// Bytes that cannot be given back: they decide whether the plan fits.
  [[nodiscard]] Bytes needed() const { return total() - allocator_cache - paged; }
  /// Bytes that PyTorch's allocator has handed out (`max_memory_allocated`): managed memory of
  /// paged states (bitsandbytes) is none of it.
  [[nodiscard]] Bytes allocated() const {
    return weights + gradients + optimizer + activations + buffers - paged;
  }
  /// Returns the bytes that it holds for that (`max_memory_reserved`).
  [[nodiscard]] Bytes reserved() const { return allocated() + allocator_cache; }
  /// The figure of that kind.
  [[nodiscard]] Bytes of(MemoryKind kind) const {
    if (kind == MemoryKind::smi) return total();
    return kind == MemoryKind::reserved ? reserved() : allocated();
  }
};

/// A part of a stage's memory, as every answer shows it.
struct MemoryPart {
  std::string_view key;  ///< in JSON with "_gib" behind it
  Bytes StageMemory::*bytes;
};
inline constexpr std::array<MemoryPart, 6> kMemoryParts{{{"weights", &StageMemory::weights},
                                                         {"gradients", &StageMemory::gradients},
                                                         {"optimizer", &StageMemory::optimizer},
                                                         {"activations", &StageMemory::activations},
                                                         {"buffers", &StageMemory::buffers},
                                                         {"framework", &StageMemory::framework}}};

/// A moment of a stage: for each of its model chunks, micro batches between its forward and its
/// backward pass, and the chunk that computes.
struct ChunkMoment {
  static constexpr std::size_t kNone = ~std::size_t{0};  ///< no chunk computes

  std::size_t computing{kNone};
  std::vector<std::int64_t> held;

  auto operator<=>(const ChunkMoment&) const = default;
};

/// The micro batches in flight on a stage by its schedule.
struct InFlight {
  /// As many of one chunk, whichever is the largest.
  InFlight(std::int64_t pairs = 0) : most(pairs) {}

  std::int64_t most{};  ///< (micro batch, model chunk) pairs at once
  /// Those that may be the fullest; none: `most` pairs of the largest chunk, whichever computes.
  std::vector<ChunkMoment> moments;
};

enum class MemoryVerdict : std::uint8_t { fits, tight, oom };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<MemoryVerdict>{"fits", "tight", "oom"};

/// Parameters that one rank of a stage holds before any sharding over data-parallel ranks.
struct StageParameters {
  double dense{};    ///< over the data group
  double experts{};  ///< over the expert-data group
  double tables{};   ///< of `dense`, those that are no matrices of layers: embeddings and heads

  [[nodiscard]] double total() const { return dense + experts; }
  bool operator==(const StageParameters&) const = default;
};

/// The weight of one part of a kind.
struct PartWeight {
  PartParameters parameters;  ///< whole tensors, as `part_parameters` counts them
  /// Activations of one micro batch of a block, on one rank, bytes.
  double whole{};         ///< everything that the backward pass reads
  double working{};       ///< most that one of its kernels reads and writes beside that, backward
  double kept{};          ///< of that, what is not computed again; a mean where blocks differ
  double repeated{};      ///< what is computed again, in a block that it is in
  double input{};         ///< that of the block alone
  double checkpoint{};    ///< of it, what full recompute keeps
  double offloaded{};     ///< what waits in host memory instead; a mean where blocks differ
  double gathered{};      ///< inputs that tensor ranks gather forward
  double placeholders{};  ///< for gradients of weights that are in their sums already
};
using PartWeights = PerPart<PartWeight>;

/// Weighs the parts that the model has.
PartWeights part_weights(const Transformer& model, const LayerContent& layers,
                         const Software& software);

/// Returns the parameters of a stage, its vpp chunks together. Norms and biases of row-parallel
/// layers are replicated, which is within 0.01 % and left out.
StageParameters stage_parameters(const PartWeights& weights, const Transformer& model,
                                 const Plan& plan, const Software& software,
                                 const std::vector<StageContent>& chunks_of_stage);

/// Those of them that learn: what has gradients and states.
StageParameters learning_parameters(const PartWeights& weights, const Transformer& model,
                                    const Plan& plan, const Software& software,
                                    const std::vector<StageContent>& chunks_of_stage);

/// Bytes of the weights of `all`, before any sharding: `learning` of them at `element` bytes,
/// frozen matrices as they are stored, frozen tables as activations. The mean of a parameter, by
/// which all of them are shared out.
double mean_weight_bytes(const Plan& plan, const StageParameters& all,
                         const StageParameters& learning, double element);

/// A rank's share of `parameters` where its groups divide them.
double sharded_parameters(const Plan& plan, const StageParameters& parameters);
/// Those whose optimizer states a rank keeps: its share with ZeRO, else all.
double owned_parameters(const Plan& plan, const StageParameters& parameters);
/// Without tables: what Muon updates. Norms and biases count with their layers' matrices, which
/// is within 0.01 %.
StageParameters matrices_of(StageParameters parameters);

/// Memory of one stage that holds `in_flight` by its schedule: the fullest of its moments. While
/// the chunk with the head computes, these are the loss, whose logits no layer's backward is
/// beside, and a layer's backward, which repeats the layer first where it is recomputed; and at the
/// end of the step the update, when no activations are left.
StageMemory stage_memory(const PartWeights& weights, const Transformer& model, const Plan& plan,
                         const Software& software, const std::vector<StageContent>& chunks_of_stage,
                         const InFlight& in_flight);

/// Returns what the allocator reserves at most on a device that is full.
inline Bytes most_reserved(const Device& device, const Software& software) {
  return {device.memory.value * software.common.reserved_share};
}

/// Returns the figure that a tool prints for it: the allocator's cache shrinks when the device is
/// full, so the figure saturates at `most_reserved`.
Bytes printed_peak(const StageMemory& memory, Bytes most);
/// The same with what is left of the cache: the kinds add up to that figure.
StageMemory printed(StageMemory memory, Bytes most);

/// `tight` from 88 % of the device (allocator retries become likely), `oom` when what is allocated
/// exceeds it.
MemoryVerdict memory_verdict(const StageMemory& memory, const Device& device);

}  // namespace prequel
