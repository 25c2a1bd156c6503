#pragma once

/// Arithmetic of memory-bound kernels on one element, and the scales of blocks of narrow numbers,
/// in functions that compile for processors and GPUs alike. C++17, and nothing of the rest. Source
/// of the scales: OCP, "Microscaling Formats" 1.0.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined __CUDACC__ || defined __HIPCC__
#define PREQUEL_ANYWHERE __host__ __device__
#else
#define PREQUEL_ANYWHERE
#endif

namespace prequel {

PREQUEL_ANYWHERE inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

PREQUEL_ANYWHERE inline float float_of_bits(std::uint32_t bits) {
  float value = 0.0F;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Returns the factor for the numbers of a block by which the largest of them becomes the largest
/// of the format.
PREQUEL_ANYWHERE inline float block_factor(float largest, float most) {
  return most / (largest > 1e-12F ? largest : 1e-12F);
}

/// The power of two below, or equal: the exponent alone.
PREQUEL_ANYWHERE inline float power_of_two_below(float value) {
  return float_of_bits(bits_of_float(value) & 0x7f800000U);
}

/// e8m0 of the inverse of a power of two.
PREQUEL_ANYWHERE inline unsigned char inverse_as_e8m0(float power) {
  return static_cast<unsigned char>(254U - (bits_of_float(power) >> 23));
}

/// A hash of the index: as random as the multiplier's power draw needs.
PREQUEL_ANYWHERE inline unsigned hash_of_index(std::size_t i) {
  unsigned bits = static_cast<unsigned>(i ^ (i >> 32)) * 2654435761U;
  bits ^= bits >> 15;
  bits *= 2246822519U;
  return bits ^ (bits >> 13);
}

/// In [-1, 1).
PREQUEL_ANYWHERE inline float random_number(std::size_t i) {
  return static_cast<float>(hash_of_index(i) % 2048U) / 1024.0F - 1.0F;
}

/// Without its highest bit the exponent of e4m3 stays below infinity and what is no number, and
/// there is no minus zero, which MI300X takes for no number.
PREQUEL_ANYWHERE inline unsigned char random_e4m3(std::size_t i) {
  const unsigned bits = hash_of_index(i) & 0xbfU;
  return static_cast<unsigned char>(bits == 0x80U ? 0U : bits);
}

/// A tenth is dropped.
PREQUEL_ANYWHERE inline bool is_kept(std::size_t i) {
  return hash_of_index(i) >= 429496729U;
}

/// residual + dropout(x + bias).
PREQUEL_ANYWHERE inline float bias_dropout_add_of(float x, float residual, bool kept) {
  return residual + (kept ? (x + 0.125F) / 0.9F : 0.0F);
}

/// One step of Adam without weight decay.
struct AdamState {
  float weight{};
  float mean{};
  float square{};
};
PREQUEL_ANYWHERE inline AdamState adam_step(const AdamState& before, float gradient) {
  const float mean = 0.9F * before.mean + 0.1F * gradient;
  // Random memory has negative squares, which a root would not take.
  const float square = 0.95F * fabsf(before.square) + 0.05F * gradient * gradient;
  return {before.weight - 1e-4F * mean / (sqrtf(square) + 1e-8F), mean, square};
}

}  // namespace prequel
