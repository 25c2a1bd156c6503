#pragma once

/// What a fused (flash) attention kernel costs on one device.

#include <string>
#include <string_view>
#include <vector>

#include "hw/vocabulary.hpp"

namespace prequel {

struct Device;

/// Constants of one pass of a kernel for one head size:
///
///     arithmetic = FLOP·(1 + saturation / s) / (efficiency·P) + tail·4·128·d·s / (efficiency·P /
///     U) traffic    = bytes of q, k, v and o / (memory_fraction·R) t          = launch +
///     sqrt(arithmetic² + traffic²)
///
/// with s the sequence length, d the head size, P the half-precision peak, U the compute units
/// and R the HBM rate. Saturation is the loss on short rows; the tail is the longest block of 128
/// queries, which runs on one compute unit. Backward moves twice the bytes (o and the gradients
/// too). Source: form fitted to public tables of FlashAttention 2 and 3 on A100 and H100.
struct AttentionPass {
  double efficiency{};  ///< of peak
  double saturation_tokens{};
  double launch_s{};
  double tail{};
  double memory_fraction{1.0};  ///< of the HBM rate
  double flop_factor{1.0};      ///< FLOP of this pass over those of the forward pass
};

struct AttentionHeadSize {
  double head_dim{};
  AttentionPass forward;
  AttentionPass backward;
};

/// One generation of a kernel, e.g. "flash-2".
struct AttentionKernel {
  std::string name;
  std::vector<std::string> measured_as;       ///< names of the same kernel in measurement tables
  bool skips_masked{true};                    ///< a causal mask halves the work
  std::vector<AttentionHeadSize> head_sizes;  ///< ascending, at least one
};

/// The kernel of that name (or measured under that name). Throws InputError that lists what the
/// device has.
const AttentionKernel& attention_kernel(const Device& device, std::string_view kernel);

/// Arithmetic that the kernel does: 4·b·a·s²·d forward, half of it where a causal mask is
/// skipped, times the pass' factor.
Flops flops(const AttentionKernel& kernel, const FusedAttention& attention);

/// Time of one pass, without the host's launch. Constants between two head sizes are
/// interpolated; outside them the nearest size counts. Errors as `attention_kernel`.
Seconds price(const Device& device, const FusedAttention& attention, std::string_view kernel);

}  // namespace prequel
