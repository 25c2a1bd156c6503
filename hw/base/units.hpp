#pragma once

/// The few physical quantities that prequel speaks of, in SI base units.
///
/// Interfaces use these types, so that a rate cannot be passed for a time; hot loops use plain
/// doubles of the same unit. Only operations that mean something exist. Text with units is read
/// in hw/base/unit_text.hpp and written by cli/.

#include <compare>
#include <cstdint>

namespace prequel {

/// A number with the unit that `Tag` names.
template <class Tag>
struct Quantity {
  double value{};

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, double factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(double factor, Quantity a) { return {a.value * factor}; }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return {a.value / divisor}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;  ///< a number of floating-point operations
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return {amount.value / rate.value};
}
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return {amount.value / rate.value};
}
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) {
  return {amount.value / time.value};
}
constexpr FlopsPerSecond operator/(Flops amount, Seconds time) {
  return {amount.value / time.value};
}

/// A count as a number to calculate with.
constexpr double real(std::int64_t count) {
  return static_cast<double>(count);
}

inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;  ///< bytes in a GiB
inline constexpr double kGB = 1e9;                        ///< bytes in a GB
inline constexpr double kTera = 1e12;

inline constexpr double kMinute = 60;          ///< s
inline constexpr double kHour = 60 * kMinute;  ///< s
inline constexpr double kDay = 24 * kHour;     ///< s

}  // namespace prequel
