#pragma once

/// Grid of kernels to measure on a GPU, and the place of memory-bound kernels' arrays in its
/// memory: all of it that needs no GPU.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/work.hpp"

namespace prequel {

/// The abilities of a GPU and the libraries beside it.
struct GpuAbilities {
  std::set<Precision> formats;     ///< of products
  bool fused_attention{};          ///< there is a library of it
  bool fused_fp8{};                ///< of e4m3, too
  std::size_t cache_bytes{};       ///< between L2 and memory, of which the runtime does not tell
  std::vector<std::string> lacks;  ///< what is not measured, and why
};

/// By the compute capability, times ten, and whether cuDNN is there. Scales of blocks are as
/// cuBLASLt has them: of 128 elements on Hopper alone, of 32 and 16 from Blackwell on.
GpuAbilities nvidia_abilities(int capability, bool cudnn);

/// By the name of the architecture ("gfx942:sramecc+:xnack-"), and whether hipBLASLt is there,
/// whose scales are of whole tensors or, on gfx950, of 32 elements.
GpuAbilities amd_abilities(std::string_view architecture, bool hipblaslt);

/// Tests whether e4m3 is the one without infinities and minus zero, of twice the bias ("fnuz"), as
/// on MI300X.
bool has_fnuz(std::string_view architecture);

/// Products in all formats and passes, strided-batched ones over aligned and misaligned head sizes,
/// products of experts, attention fused and as a chain, memory-bound kernels, casts, copies,
/// launches.
std::vector<Work> gpu_grid(const GpuAbilities& abilities);

/// Returns which of a grid's kernels were checked without a GPU, and which nobody has seen on one.
std::vector<Unproven> unproven_kernels(const std::vector<Work>& grid, std::string_view library);

/// Rows of `width` elements that one memory-bound kernel works on.
struct StreamShape {
  std::size_t rows{};
  std::size_t width{};  ///< even: kernels take elements by twos
  [[nodiscard]] std::size_t elements() const { return rows * width; }
};

/// Bytes that each array of a kernel has per element, and bytes that an element passes through.
struct StreamTraffic {
  std::vector<std::size_t> arrays;
  double bytes_per_element{};
};

/// As mixed-precision training has them: activations in bf16, one byte of a dropout mask, Adam on
/// fp32 states and gradients with a bf16 copy of the weights. Nothing for kinds without a kernel.
std::optional<StreamTraffic> stream_traffic(StreamKind kind);

/// The shape whose traffic is that of `stream`, as nearly as whole rows allow; where it names no
/// rows, they are as wide as the kernel's usually are.
StreamShape stream_shape(const Stream& stream, double bytes_per_element);

}  // namespace prequel
