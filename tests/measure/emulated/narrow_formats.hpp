#pragma once

/// Number formats of 16 bits and fewer. On GPUs, casts are done by their own instructions, as in
/// training; these functions say what the instructions must give.
/// Source: OCP, "8-bit Floating Point Specification" 1.0.

#include "calibrate/measure/kernel_arithmetic.hpp"

namespace prequel {

/// A sign, an exponent and a mantissa; the least exponent is that of subnormal numbers.
struct NarrowFormat {
  int exponent_bits{};
  int mantissa_bits{};
  int bias{};
  unsigned most{};  ///< code of the largest finite number
  unsigned not_a_number{};
  bool minus_zero{true};  ///< there is one
};

constexpr NarrowFormat kE4m3{4, 3, 7, 0x7e, 0x7f};
/// MI300X's own, without infinities and minus zero.
constexpr NarrowFormat kE4m3Fnuz{4, 3, 8, 0x7f, 0x80, false};
constexpr NarrowFormat kE5m2{5, 2, 15, 0x7b, 0x7f};
/// Has neither infinity nor what is no number, which becomes the largest.
constexpr NarrowFormat kE2m1{2, 1, 1, 0x7, 0x7};
constexpr NarrowFormat kBf16{8, 7, 127, 0x7f7f, 0x7fff};

/// The code of the nearest number, of two as near the one with an even code; what is beyond the
/// largest finite number becomes that.
inline unsigned to_narrow(float value, const NarrowFormat& format) {
  const std::uint32_t bits = bits_of_float(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return format.not_a_number;
  const unsigned sign = (bits >> 31) << (format.exponent_bits + format.mantissa_bits);
  const int least = 1 - format.bias;
  // value = significand · 2^(exponent - 23)
  const int exponent = magnitude < 0x00800000U ? -126 : static_cast<int>(magnitude >> 23) - 127;
  const std::uint32_t significand =
      magnitude < 0x00800000U ? magnitude : (magnitude & 0x007fffffU) | 0x00800000U;
  const int kept = exponent > least ? exponent : least;
  const int shift = kept - exponent + 23 - format.mantissa_bits;
  std::uint32_t rounded = 0;
  if (shift < 25) {  // else it is below half of the smallest number
    const std::uint32_t rest = significand & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1);
    rounded = significand >> shift;
    if (rest > half || (rest == half && (rounded & 1U) != 0)) ++rounded;
  }
  unsigned code = rounded + (static_cast<unsigned>(kept - least) << format.mantissa_bits);
  if (code > format.most) code = format.most;
  if (code == 0 && !format.minus_zero) return 0;
  return code | sign;
}

/// Nothing is lost. Codes beyond the largest finite number are no numbers here.
inline float from_narrow(unsigned code, const NarrowFormat& format) {
  const unsigned sign_bit = 1U << (format.exponent_bits + format.mantissa_bits);
  const unsigned magnitude = code & (sign_bit - 1U);
  if (magnitude > format.most || (!format.minus_zero && code == sign_bit)) {
    return float_of_bits(0x7fc00000U);
  }
  const unsigned mantissa = magnitude & ((1U << format.mantissa_bits) - 1U);
  const int stored = static_cast<int>(magnitude >> format.mantissa_bits);
  const unsigned whole = stored > 0 ? mantissa | (1U << format.mantissa_bits) : mantissa;
  const int exponent = (stored > 0 ? stored : 1) - format.bias - format.mantissa_bits;
  // A power of two by its bits, twice where one is no normal number (bf16).
  float value = static_cast<float>(whole);
  for (int left = exponent; left != 0;) {
    const int step = left < -126 ? -126 : left;
    value *= float_of_bits(static_cast<std::uint32_t>(step + 127) << 23);
    left -= step;
  }
  return (code & sign_bit) != 0 ? -value : value;
}

}  // namespace prequel
