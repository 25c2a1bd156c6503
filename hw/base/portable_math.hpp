#pragma once

/// Functions of libm that are the same on every machine. Libraries, and versions of one for this
/// processor or that, differ in the last bits of them, which IEEE 754 leaves open; +, −, ×, ÷ and
/// the square root it does not. Results are rounded to 31 bits, a relative 2⁻³² = 2·10⁻¹⁰: a
/// library's error of one in the 53rd bit moves one result in some four million.

#include <cmath>

namespace prequel::portable {

/// Rounded to 31 bits (Dekker 1971, "A floating-point technique for extending the available
/// precision": the upper part of his splitting).
inline double rounded(double value) {
  constexpr double kSplit = 4194305.0;  // 2^22 + 1
  constexpr double kLargest = 1e300;    // whose product with it is finite
  if (!(std::fabs(value) < kLargest)) return value;
  const double spread = value * kSplit;
  return spread - (spread - value);
}

inline double exp(double x) {
  return rounded(std::exp(x));
}
/// e^x − 1.
inline double expm1(double x) {
  return rounded(std::expm1(x));
}
inline double log(double x) {
  return rounded(std::log(x));
}
/// ln(1 + x).
inline double log1p(double x) {
  return rounded(std::log1p(x));
}
inline double log2(double x) {
  return rounded(std::log2(x));
}
inline double log10(double x) {
  return rounded(std::log10(x));
}
inline double pow(double base, double exponent) {
  return rounded(std::pow(base, exponent));
}
inline double cos(double x) {
  return rounded(std::cos(x));
}
inline double acos(double x) {
  return rounded(std::acos(x));
}

/// √(a² + b²), of numbers whose squares a double holds.
inline double hypot(double a, double b) {
  return std::sqrt(a * a + b * b);
}
/// ⁴√(a⁴ + b⁴): of two that go on at once and meet their match where they are alike.
inline double four_norm(double a, double b) {
  return std::sqrt(hypot(a * a, b * b));
}

}  // namespace prequel::portable
