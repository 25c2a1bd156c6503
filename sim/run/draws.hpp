#pragma once

/// Random numbers that are the same bits on every machine: each is a function of what it is for
/// (seed, replication, stream, place in it), so that two plans can be compared on the same ones.
/// Logarithm, exponential and normal quantile use +, −, ×, ÷ and the square root alone, which IEEE
/// 754 leaves no freedom; libm's differ in the last bit from one machine to the next.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace prequel::draws {

/// Returns a word in which each bit of `word` counts (Steele, Lea and Flood 2014, "Fast splittable
/// pseudorandom number generators": the finalizer of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15U;
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31U);
}

/// Returns the key of a stream, or of an event in it.
constexpr std::uint64_t key(std::uint64_t parent, std::uint64_t child) {
  return mixed(parent ^ mixed(child));
}

/// Returns a number between 0 and 1, neither of them.
constexpr double share(std::uint64_t word) {
  return (static_cast<double>(word >> 11U) + 0.5) * 0x1p-53;
}

namespace series {
inline constexpr std::array<double, 11> kOverOdd{1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,
                                                 1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                                                 1.0 / 17, 1.0 / 19, 1.0 / 21};
inline constexpr auto kOverFactorial = [] {
  std::array<double, 15> terms{1.0};
  for (std::size_t n = 1; n < terms.size(); ++n) terms[n] = terms[n - 1] / static_cast<double>(n);
  return terms;
}();
/// Returns Σ terms[i]·x^i: four sums in x⁴ side by side, as a processor adds while it multiplies.
template <std::size_t n>
constexpr double sum(const std::array<double, n>& terms, double x) {
  std::array<double, 4> part{};
  const double square = x * x, fourth = square * square;
  for (std::size_t i = (n + 3) / 4 * 4; i-- > 0;) {
    part[i % 4] = part[i % 4] * fourth + (i < n ? terms[i] : 0.0);
  }
  return (part[0] + part[1] * x) + (part[2] + part[3] * x) * square;
}
}  // namespace series

/// Returns ln x of a normal x > 0, within 2 units of the last place: 2·artanh((m − 1)/(m + 1)) of
/// the mantissa m, by its series.
inline double natural_log(double x) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52U) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double exponent = static_cast<double>(bits >> 52U) - 1022;
  double mantissa = std::bit_cast<double>((bits & kMantissa) | std::uint64_t{1022} << 52U);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    exponent -= 1;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  return 2 * z * series::sum(series::kOverOdd, z * z) + exponent * 0.69314718055994531;
}

/// Returns e^x, 0 below −708 and the largest double above 709, by the series of what is left over a
/// power of 2.
inline double exponential_of(double x) {
  if (x < -708) return 0;
  if (x > 709) return std::numeric_limits<double>::max();
  const double power = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = (x - power * 0.693145751953125) - power * 1.42860682030941723212e-6;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(power) + 1023);
  return series::sum(series::kOverFactorial, rest) * std::bit_cast<double>(exponent << 52U);
}

/// Returns the value below which `share` of a standard normal lies (M. J. Wichura 1988, algorithm
/// AS 241, PPND16; relative error 1e-16).
double normal_quantile(double share);

/// Standard deviations from the median of a normal to its 90th percentile.
inline constexpr double kNormalP90 = 1.2815515655446004;

/// Returns a draw of mean 1, exponentially distributed.
inline double exponential(std::uint64_t word) {
  return -natural_log(share(word));
}

/// Returns a standard normal draw.
inline double normal(std::uint64_t word) {
  return normal_quantile(share(word));
}

/// Returns a draw whose logarithm is normal around that of `median`, with deviation `sigma`.
inline double lognormal(std::uint64_t word, double median, double sigma) {
  return sigma > 0 ? median * exponential_of(sigma * normal(word)) : median;
}

/// Returns a draw of Student's t with 4 degrees of freedom, a normal one over the root of a χ² of 4
/// over 4: −2·ln(u·v) is such a χ². It ascends with the first word.
inline double student_t4(std::uint64_t normal_word, std::uint64_t u, std::uint64_t v) {
  return normal(normal_word) / std::sqrt((exponential(u) + exponential(v)) / 2);
}

}  // namespace prequel::draws
