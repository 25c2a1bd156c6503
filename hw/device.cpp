#include "hw/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "hw/base/errors.hpp"

namespace prequel {
namespace {

std::size_t place(Precision precision) {
  return static_cast<std::size_t>(precision);
}

/// A format whose model counts for another: itself, or the nearest by what the tensor cores do.
Precision modelled(const Device& device, Precision precision) {
  const auto first_of = [&device](std::initializer_list<Precision> by_distance) {
    const auto found = std::ranges::find_if(by_distance, [&device](Precision other) {
      return device.gemm_formats[place(other)].has_value();
    });
    return found == by_distance.end() ? Precision::bf16 : *found;
  };
  switch (precision) {
    case Precision::fp8: return first_of({Precision::fp8, Precision::mxfp8, Precision::fp8_block});
    case Precision::fp8_block:
      return first_of({Precision::fp8_block, Precision::mxfp8, Precision::fp8});
    case Precision::mxfp8:
      return first_of({Precision::mxfp8, Precision::fp8_block, Precision::fp8});
    case Precision::fp8_row:
      return first_of({Precision::fp8_row, Precision::fp8, Precision::mxfp8, Precision::fp8_block});
    case Precision::fp4:
      return first_of({Precision::fp4, Precision::mxfp8, Precision::fp8_block, Precision::fp8});
    default: return device.gemm_formats[place(precision)] ? precision : Precision::bf16;
  }
}

const GemmModel& model_of(const Device& device, Precision precision) {
  const auto& own = device.gemm_formats[place(modelled(device, precision))];
  return own ? *own : device.gemm;
}

std::string path_of_model(const Device& device, Precision precision) {
  const Precision model = modelled(device, precision);
  return device.gemm_formats[place(model)] ? fmt::format("device.gemm_formats.{}", name(model))
                                           : "device.gemm";
}

/// Returns the error that the device file states of the model of products.
double error_of_model(const Device& device, Precision precision) {
  const Precision model = modelled(device, precision);
  return device.gemm_formats[place(model)] ? device.errors.gemm_formats[place(model)]
                                           : device.errors.gemm;
}

DeviceRates rates_in(const Device& device, Precision precision) {
  return {device.peak(precision), device.compute_units, device.memory_rate};
}

const StreamModel& model_of(const Device& device, StreamKind kind) {
  return device.streams[static_cast<std::size_t>(kind)];
}

/// Returns the constants that a device file states of a kind of mixer's kernel.
template <class Kernel>
const Kernel& known(const Device& device, const std::optional<Kernel>& kernel,
                    std::string_view what) {
  if (kernel) return *kernel;
  throw InputError(
      fmt::format("device {} has no constants of {} (mixers); h100-sxm, b200 and "
                  "gb200 have",
                  device.name, what));
}

const ScanKernel& kernel_of(const Device& device, const Scan& scan) {
  return known(device, device.mixers.scans[static_cast<std::size_t>(scan.kind)],
               fmt::format("{} scans", name(scan.kind)));
}

const SparseKernel& kernel_of(const Device& device, const SparseAttention& attention) {
  return attention.is_indexer ? known(device, device.mixers.indexer, "indexers of sparse attention")
                              : known(device, device.mixers.sparse_core, "sparse attention");
}

}  // namespace

FlopsPerSecond Device::peak(Precision precision) const {
  const auto stated = [this](Precision each) { return peaks[place(each)]; };
  if (const double value = stated(precision); value > 0.0) return {value};
  // Scales of rows and blocks cost the tensor cores nothing, as data sheets count.
  // Those of 32 elements are read by tensor cores that know them, as they know 4 bits.
  const bool reads_mx =
      stated(Precision::fp4) > 0.0 || gemm_formats[place(Precision::mxfp8)].has_value();
  const bool scaled = precision == Precision::fp8_block || precision == Precision::fp8_row ||
                      (precision == Precision::mxfp8 && reads_mx);
  if (scaled && stated(Precision::fp8) > 0.0) return {stated(Precision::fp8)};
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (peaks[i] > 0.0) known.push_back(prequel::name(static_cast<Precision>(i)));
  }
  const bool other_recipes = precision == Precision::mxfp8 && stated(Precision::fp8) > 0.0;
  throw InputError(
      fmt::format("device {} has no {} matrix products; it has {}{}", name,
                  prequel::name(precision), fmt::join(known, ", "),
                  other_recipes ? "; fp8 with the recipe delayed, current or block would do" : ""));
}

DeviceRates rates_of(const Device& device) {
  const double half =
      std::max(device.peaks[place(Precision::fp16)], device.peaks[place(Precision::bf16)]);
  return {{half > 0.0 ? half : *std::ranges::max_element(device.peaks)},
          device.compute_units,
          device.memory_rate,
          device.cache,
          device.cache_rate};
}

Seconds price(const Device& device, const Gemm& gemm) {
  return price(model_of(device, gemm.precision), rates_in(device, gemm.precision), gemm);
}

Seconds price(const Device& device, const GroupedGemm& product) {
  return price(model_of(device, product.precision), device.grouped,
               rates_in(device, product.precision), product);
}

Seconds price(const Device& device, const GroupedGemm& product,
              std::span<const std::int64_t> rows) {
  return price(model_of(device, product.precision), device.grouped,
               rates_in(device, product.precision), product, rows);
}

Seconds price(const Device& device, const Stream& stream) {
  return price(model_of(device, stream.kind), rates_of(device), stream);
}

Seconds price(const Device& device, const FusedAttention& attention, std::string_view kernel) {
  return price(attention_kernel(device, kernel), rates_of(device), attention);
}

Seconds price(const Device& device, const Scan& scan) {
  return price(kernel_of(device, scan), scan) / device.clock_ratio;
}

Seconds price(const Device& device, const SparseAttention& attention) {
  return price(kernel_of(device, attention), attention) / device.clock_ratio;
}

PriceExplanation explain_price(const Device& device, const Scan& scan) {
  PriceExplanation why = explain_price(kernel_of(device, scan), scan);
  why.constants = fmt::format("device.mixers.scans.{}", name(scan.kind));
  return why;
}

PriceExplanation explain_price(const Device& device, const SparseAttention& attention) {
  PriceExplanation why = explain_price(kernel_of(device, attention), attention);
  why.constants = attention.is_indexer ? "device.mixers.indexer" : "device.mixers.sparse_core";
  return why;
}

PriceExplanation explain_price(const Device& device, const Gemm& gemm) {
  PriceExplanation why =
      explain_price(model_of(device, gemm.precision), rates_in(device, gemm.precision), gemm);
  why.constants = path_of_model(device, gemm.precision);
  why.relative_error = error_of_model(device, gemm.precision);
  return why;
}

PriceExplanation explain_price(const Device& device, const GroupedGemm& product) {
  PriceExplanation why = explain_price(model_of(device, product.precision), device.grouped,
                                       rates_in(device, product.precision), product);
  why.constants = path_of_model(device, product.precision);
  why.relative_error = device.errors.grouped;
  return why;
}

PriceExplanation explain_price(const Device& device, const Stream& stream) {
  PriceExplanation why = explain_price(model_of(device, stream.kind), rates_of(device), stream);
  why.constants = fmt::format("device.memory_bound.{}", name(stream.kind));
  why.relative_error = device.errors.stream;
  return why;
}

PriceExplanation explain_price(const Device& device, const FusedAttention& attention,
                               std::string_view kernel) {
  const AttentionKernel& known = attention_kernel(device, kernel);
  PriceExplanation why = explain_price(known, rates_of(device), attention);
  why.constants = "device.attention.kernels." + known.name;
  why.relative_error = device.errors.attention;
  return why;
}

std::string stand_in(const Device& device, Precision precision) {
  if (!is_quantized(precision)) return {};
  const Precision model = modelled(device, precision);
  if (model == precision) return {};
  return fmt::format(
      "{}: constants of {} products, by the ratio of the peaks, stand in for those "
      "of {}",
      device.name, name(model), name(precision));
}

std::string stand_in(const Device& device, const FusedAttention& attention,
                     std::string_view kernel) {
  const AttentionKernel& known = attention_kernel(device, kernel);
  std::vector<std::string> said;
  const bool named = known.name == kernel || std::ranges::count(known.measured_as, kernel) > 0;
  if (!named)
    said.push_back(fmt::format("{} stands in for attention kernel {}", known.name, kernel));
  if (auto constants = prequel::stand_in(known, attention); !constants.empty()) {
    said.push_back(fmt::format("attention of {}", constants));
  }
  return said.empty() ? std::string() : fmt::format("{}: {}", device.name, fmt::join(said, "; "));
}

const AttentionKernel& attention_kernel(const Device& device, std::string_view kernel) {
  if (!device.attention.empty()) return nearest_kernel(device.attention, kernel);
  throw InputError(fmt::format(
      "device {} has no fused attention kernel, so none for \"{}\"; use unfused attention",
      device.name, kernel));
}

Seconds host_copy_time(const Device& device, Bytes bytes) {
  return bytes / device.host_link;
}

}  // namespace prequel
