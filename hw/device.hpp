#pragma once

/// One accelerator: what its datasheet says, and the constants of its kernel models.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hw/base/json_cursor.hpp"
#include "hw/base/units.hpp"
#include "hw/kernels/attention.hpp"
#include "hw/kernels/gemm.hpp"
#include "hw/kernels/memory_bound.hpp"
#include "hw/vocabulary.hpp"

namespace prequel {

inline constexpr std::size_t kPrecisions = kWordsOf<Precision>.size();

/// The relative errors that a device file states for its models (mean, on shapes that were not
/// fitted).
struct KernelErrors {
  double gemm{};
  double stream{};
  double attention{};
};

struct Device {
  std::string name;
  double compute_units{};   ///< streaming multiprocessors of a GPU, cores of a CPU
  double clock_ratio{1.0};  ///< of the clock over the one that the peaks are given at
  Bytes memory{};           ///< what programs can allocate, all of them together
  BytesPerSecond memory_rate{};
  BytesPerSecond host_link{};               ///< to host memory, one direction
  std::array<double, kPrecisions> peaks{};  ///< FLOP/s, dense, by Precision; 0: not there

  GemmModel gemm;
  StreamModels streams{};
  std::vector<AttentionKernel> attention;  ///< empty: no fused kernel known
  KernelErrors errors;
  /// Share of the shorter of two that a collective and the kernels it overlaps lose each, as they
  /// compete for compute units and memory; 0 where it is not known.
  double overlap_loss{};

  /// Peak of dense matrix products. Throws InputError that names the precisions there are.
  [[nodiscard]] FlopsPerSecond peak(Precision precision) const;
};

/// Reads a device file (schema prequel/device/1) whole; peaks are given at `peak_clock_ghz` and
/// scale with `clock_ghz`. Throws InputError with all problems of the file.
Device read_device(const Document& document);

}  // namespace prequel
