#include "hw/kernels/attention.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/price_explanation.hpp"

namespace prequel {
namespace {

const AttentionPass& pass_of(const AttentionHeadSize& size, bool backward) {
  return backward ? size.backward : size.forward;
}

AttentionPass constants(const AttentionKernel& kernel, const FusedAttention& attention) {
  const auto& sizes = kernel.head_sizes;
  const auto d = static_cast<double>(attention.head_dim);
  const auto above = std::find_if(sizes.begin(), sizes.end(), [d](const AttentionHeadSize& size) {
    return size.head_dim >= d;
  });
  if (above == sizes.end()) return pass_of(sizes.back(), attention.backward);
  if (above == sizes.begin()) return pass_of(sizes.front(), attention.backward);
  const auto below = above - 1;
  const double part = (d - below->head_dim) / (above->head_dim - below->head_dim);
  const AttentionPass& low = pass_of(*below, attention.backward);
  const AttentionPass& high = pass_of(*above, attention.backward);
  return {std::lerp(low.efficiency, high.efficiency, part),
          std::lerp(low.saturation_tokens, high.saturation_tokens, part),
          std::lerp(low.launch_s, high.launch_s, part),
          std::lerp(low.tail, high.tail, part),
          std::lerp(low.memory_fraction, high.memory_fraction, part),
          std::lerp(low.flop_factor, high.flop_factor, part)};
}

double flop_count(const AttentionKernel& kernel, const FusedAttention& attention, double factor) {
  const auto s = static_cast<double>(attention.seq);
  const double square = 4.0 * static_cast<double>(attention.batch) *
                        static_cast<double>(attention.heads) *
                        static_cast<double>(attention.head_dim) * s * s;
  return square * (attention.causal && kernel.skips_masked ? 0.5 : 1.0) * factor;
}

/// q and o have all heads, k and v the key-value heads; two bytes an element.
double bytes_moved(const FusedAttention& attention) {
  const auto rows = static_cast<double>(attention.batch * attention.seq * attention.head_dim);
  const auto heads = static_cast<double>(2 * attention.heads + 2 * attention.kv_heads);
  return 2.0 * rows * heads * (attention.backward ? 2.0 : 1.0);
}

/// The terms of the equation, in seconds.
struct Terms {
  double full_rate{};      ///< all FLOP at the efficiency
  double short_rows{};     ///< what saturation adds
  double longest_block{};  ///< what the tail adds
  double traffic{};
};

Terms terms_of(const Device& device, const AttentionKernel& kernel, const AttentionPass& pass,
               const FusedAttention& attention) {
  const auto s = static_cast<double>(attention.seq);
  const double rate = pass.efficiency * device.peak(Precision::fp16).value;
  const double full_rate = flop_count(kernel, attention, pass.flop_factor) / rate;
  const double block = 4.0 * 128.0 * static_cast<double>(attention.head_dim) * s;
  return {full_rate, full_rate * pass.saturation_tokens / s,
          pass.tail * block * device.compute_units / rate,
          bytes_moved(attention) / (pass.memory_fraction * device.memory_rate.value)};
}

}  // namespace

const AttentionKernel& attention_kernel(const Device& device, std::string_view kernel) {
  const auto matches = [kernel](const AttentionKernel& known) {
    return known.name == kernel || std::find(known.measured_as.begin(), known.measured_as.end(),
                                             kernel) != known.measured_as.end();
  };
  const auto& kernels = device.attention;
  const auto found = std::find_if(kernels.begin(), kernels.end(), matches);
  if (found != kernels.end()) return *found;
  std::vector<std::string> names;
  for (const AttentionKernel& known : kernels) names.push_back(known.name);
  if (names.empty()) {
    throw InputError(
        fmt::format("device {} has no fused attention kernel, so not \"{}\"; use unfused attention",
                    device.name, kernel));
  }
  throw InputError(fmt::format("device {} has no attention kernel \"{}\"{}; it has {}", device.name,
                               kernel, did_you_mean(kernel, names), fmt::join(names, ", ")));
}

Flops flops(const AttentionKernel& kernel, const FusedAttention& attention) {
  return {flop_count(kernel, attention, constants(kernel, attention).flop_factor)};
}

Seconds price(const Device& device, const FusedAttention& attention, std::string_view kernel) {
  const AttentionKernel& known = attention_kernel(device, kernel);
  const AttentionPass pass = constants(known, attention);
  const Terms terms = terms_of(device, known, pass, attention);
  return {pass.launch_s +
          std::hypot(terms.full_rate + terms.short_rows + terms.longest_block, terms.traffic)};
}

PriceExplanation explain_price(const Device& device, const FusedAttention& attention,
                               std::string_view kernel) {
  const AttentionKernel& known = attention_kernel(device, kernel);
  const AttentionPass pass = constants(known, attention);
  const Terms terms = terms_of(device, known, pass, attention);
  return {"fused attention",
          "device.attention.kernels." + known.name,
          flops(known, attention),
          {bytes_moved(attention)},
          {{"matrix rate", {terms.full_rate}},
           {"short rows", {terms.short_rows}},
           {"longest block", {terms.longest_block}},
           {"memory", {terms.traffic}},
           {"launch", {pass.launch_s}}},
          price(device, attention, kernel)};
}

}  // namespace prequel
