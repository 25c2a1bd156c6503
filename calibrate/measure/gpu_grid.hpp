#pragma once

/// What is measured on a GPU, and how memory-bound kernels lie in its memory: all of it that needs
/// no GPU.

#include <cstddef>
#include <optional>
#include <vector>

#include "calibrate/measure/work.hpp"

namespace prequel {

/// What a GPU and the libraries beside it can do.
struct GpuAbilities {
  int capability{80};      ///< compute capability, times ten
  bool fused_attention{};  ///< cuDNN is there
};

/// Whether tensor cores multiply the format, with scales as cuBLASLt has them: of blocks of 128 on
/// Hopper alone, of 32 and 16 elements from Blackwell on.
bool multiplies(int capability, Precision format);

/// Whether cuDNN has attention of e4m3: from Hopper on.
bool attends_in_fp8(int capability);

/// Products in all formats and passes, strided-batched ones over aligned and misaligned head sizes,
/// products of experts, attention fused and as a chain, memory-bound kernels, casts, copies,
/// launches.
std::vector<Work> gpu_grid(const GpuAbilities& abilities);

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
