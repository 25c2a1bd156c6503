#pragma once

/// Narrow number formats by their definition: every code has a value, and a number becomes the code
/// whose value is nearest, found among all of them; of two as near the one with an even code.
/// Slow, and written without a look at what it is to check.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace prequel::reference {

/// A format with one sign bit and the given bits of exponent and mantissa.
class Format {
 public:
  /// `codes`: positive ones that are finite numbers, from zero on.
  Format(int exponent_bits, int mantissa_bits, int bias, unsigned codes)
      : sign_(1U << (exponent_bits + mantissa_bits)) {
    for (unsigned code = 0; code < codes; ++code) {
      const int exponent = static_cast<int>(code >> mantissa_bits);
      const double fraction =
          static_cast<double>(code % (1U << mantissa_bits)) / std::exp2(mantissa_bits);
      values_.push_back(exponent == 0 ? std::exp2(1 - bias) * fraction
                                      : std::exp2(exponent - bias) * (1.0 + fraction));
    }
  }

  [[nodiscard]] const std::vector<double>& values() const { return values_; }

  [[nodiscard]] double value(unsigned code) const {
    return code >= sign_ ? -values_.at(code - sign_) : values_.at(code);
  }

  [[nodiscard]] unsigned nearest(double number) const {
    // Beyond the largest all are as far, to the digits that a double has.
    const double magnitude = std::min(std::abs(number), values_.back());
    unsigned best = 0;
    for (unsigned code = 1; code < values_.size(); ++code) {
      const double now = std::abs(values_[code] - magnitude);
      const double before = std::abs(values_[best] - magnitude);
      if (now < before || (now == before && code % 2 == 0)) best = code;
    }
    return std::signbit(number) ? best + sign_ : best;
  }

 private:
  unsigned sign_;
  std::vector<double> values_;
};

inline const Format& e4m3() {
  static const Format format(4, 3, 7, 127);  // S.1111.111 is no number
  return format;
}
inline const Format& e4m3_fnuz() {
  static const Format format(4, 3, 8, 128);
  return format;
}
inline const Format& e5m2() {
  static const Format format(5, 2, 15, 124);  // infinity from S.11111.00 on
  return format;
}
inline const Format& e2m1() {
  static const Format format(2, 1, 1, 8);
  return format;
}

/// bf16 of a float: its upper half, rounded by adding just below a half, or a half where it is odd.
inline std::uint16_t bf16(float number) {
  std::uint32_t bits = 0;
  static_assert(sizeof bits == sizeof number);
  __builtin_memcpy(&bits, &number, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
inline float from_bf16(std::uint16_t half) {
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float number = 0.0F;
  __builtin_memcpy(&number, &bits, sizeof number);
  return number;
}

}  // namespace prequel::reference
