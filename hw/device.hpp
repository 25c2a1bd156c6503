#pragma once

/// One accelerator: what its datasheet says, and the constants of its kernel models.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/base/json_cursor.hpp"
#include "hw/base/units.hpp"
#include "hw/kernels/attention.hpp"
#include "hw/kernels/gemm.hpp"
#include "hw/kernels/memory_bound.hpp"
#include "hw/kernels/mixers.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

inline constexpr std::size_t kPrecisions = kWordsOf<Precision>.size();

/// The relative errors that a device file states for its models (mean, on shapes that were not
/// fitted).
struct KernelErrors {
  double gemm{};
  std::array<double, kPrecisions> gemm_formats{};  ///< of formats with a model of their own
  double grouped{};
  double stream{};
  double attention{};
  double unmeasured{};  ///< that all kernels share, where no table of the device fits them; else 0
};

/// W at the node's plug for each device: its share of processors, fans, NICs and conversion
/// included.
struct PlugPower {
  double busy{};     ///< in iterations that compute all the time
  double waiting{};  ///< while nothing runs
};

struct Device {
  std::string name;
  double compute_units{};   ///< streaming multiprocessors of a GPU, cores of a CPU
  double clock_ratio{1.0};  ///< of the clock over the one that the peaks are given at
  Bytes memory{};           ///< what programs can allocate, all of them together
  BytesPerSecond memory_rate{};
  Bytes cache{};                            ///< last level, where kernels hand tensors on in it
  BytesPerSecond cache_rate{};              ///< out of it
  BytesPerSecond host_link{};               ///< to host memory, one direction
  double power{};                           ///< W that its board may draw; 0: not known
  PlugPower plug_power;                     ///< 0: not known
  std::array<double, kPrecisions> peaks{};  ///< FLOP/s, dense, by Precision; 0: not there
  /// True where products take 8-bit operands in any order; else the sum must run along memory.
  bool fp8_in_any_order{};

  GemmModel gemm;  ///< of 16-bit formats, and of those without a model of their own
  /// By Precision: models of other formats.
  std::array<std::optional<GemmModel>, kPrecisions> gemm_formats;
  GroupedModel grouped;
  StreamModels streams{};
  std::vector<AttentionKernel> attention;  ///< empty: no fused kernel known
  MixerKernels mixers;                     ///< of scans and sparse attention
  KernelErrors errors;
  /// Rate of products and attention in a busy step over that of its kernel tables, which are
  /// bursts, beside what all cards of its generation lose alike; and how sure that is.
  double sustained{1.0}, sustained_error{};
  /// Share of the shorter of two that a collective and the kernels it overlaps lose each, as they
  /// compete for compute units and memory; 0 where it is not known.
  double overlap_loss{};
  std::vector<StatedSpread> spreads;  ///< of the file's numbers

  /// Peak of dense matrix products. Throws InputError that names the precisions there are.
  [[nodiscard]] FlopsPerSecond peak(Precision precision) const;
};

/// Reads a device file (schema prequel/device/1) whole; peaks are given at `peak_clock_ghz` and
/// scale with `clock_ghz`. Throws InputError with all problems of the file.
Device read_device(const Document& document);

/// Time of a kernel on an otherwise idle device, without the host's launch. Products throw
/// InputError if the device has no such precision, attention if it has no fused kernel at all;
/// every other lack is filled by the nearest constants there are, as `stand_in` tells.
Seconds price(const Device& device, const Gemm& gemm);
Seconds price(const Device& device, const GroupedGemm& product);
/// Group i has `rows[i]` rows; `product.groups` and `.rows` do not count.
Seconds price(const Device& device, const GroupedGemm& product, std::span<const std::int64_t> rows);
Seconds price(const Device& device, const Stream& stream);
Seconds price(const Device& device, const FusedAttention& attention, std::string_view kernel);
/// Throws InputError if the device has no constants of that kind.
Seconds price(const Device& device, const Scan& scan);
Seconds price(const Device& device, const SparseAttention& attention);

/// As `price`, taken apart.
PriceExplanation explain_price(const Device& device, const Gemm& gemm);
PriceExplanation explain_price(const Device& device, const GroupedGemm& product);
PriceExplanation explain_price(const Device& device, const Stream& stream);
PriceExplanation explain_price(const Device& device, const FusedAttention& attention,
                               std::string_view kernel);
PriceExplanation explain_price(const Device& device, const Scan& scan);
PriceExplanation explain_price(const Device& device, const SparseAttention& attention);

/// Which constants stand in for those that the device lacks, as a warning: "h100-sxm: flash-3
/// stands in for attention kernel flash-4"; empty where none do.
std::string stand_in(const Device& device, Precision precision);
std::string stand_in(const Device& device, const FusedAttention& attention,
                     std::string_view kernel);

/// The device's kernel of that name, or the nearest (hw/kernels/attention.hpp). Throws InputError
/// if it has none at all.
const AttentionKernel& attention_kernel(const Device& device, std::string_view kernel);

/// Returns the rates of the device that models of 16-bit kernels need.
DeviceRates rates_of(const Device& device);

/// Time of `bytes` over the link between host and device (PCIe, NVLink-C2C), one direction.
Seconds host_copy_time(const Device& device, Bytes bytes);

}  // namespace prequel
