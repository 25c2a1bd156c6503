#pragma once

/// Arithmetic of memory-bound kernels on one element, in functions that compile for processors and
/// GPUs alike. As narrow_formats.hpp.

#include <cmath>
#include <cstddef>

#include "calibrate/measure/narrow_formats.hpp"

namespace prequel {

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
