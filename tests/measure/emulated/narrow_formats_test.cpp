#include "tests/measure/emulated/narrow_formats.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/measure/emulated/reference_formats.hpp"

namespace prequel {
namespace {

struct Case {
  const char* name;
  NarrowFormat format;
  const reference::Format& wanted;
};

std::vector<Case> cases() {
  return {{"e4m3", kE4m3, reference::e4m3()},
          {"e4m3 fnuz", kE4m3Fnuz, reference::e4m3_fnuz()},
          {"e5m2", kE5m2, reference::e5m2()},
          {"e2m1", kE2m1, reference::e2m1()}};
}

/// Where rounding may go wrong: each value, each middle of two neighbours, the floats beside both,
/// the ends of the range of floats, and numbers at random.
std::vector<float> telling_numbers(const reference::Format& format) {
  std::vector<float> numbers{0.0F, 1e-45F, 1e-40F, 1.17549435e-38F, 3e38F, INFINITY};
  const auto add = [&](double value) {
    const auto one = static_cast<float>(value);
    for (const float number : {one, std::nextafter(one, INFINITY), std::nextafter(one, 0.0F)}) {
      numbers.push_back(number);
    }
  };
  const std::vector<double>& values = format.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    add(values[i]);
    if (i > 0) add(0.5 * (values[i - 1] + values[i]));
  }
  add(1.5 * values.back());
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(-20.0, 20.0);
  for (int i = 0; i < 5000; ++i) {
    numbers.push_back(static_cast<float>(std::exp2(exponent(random))));
  }
  const std::size_t count = numbers.size();
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

TEST_CASE("each code of 8 and 4 bits has the value that its format defines, and comes back") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const unsigned sign = 1U << (one.format.exponent_bits + one.format.mantissa_bits);
    for (unsigned code = 0; code < 2 * sign; ++code) {
      const bool number =
          code % sign < one.wanted.values().size() && (one.format.minus_zero || code != sign);
      const float value = from_narrow(code, one.format);
      CHECK(std::isnan(value) == !number);
      if (!number) continue;
      CHECK(static_cast<double>(value) == one.wanted.value(code));
      CHECK(to_narrow(value, one.format) == code);
    }
  }
}

TEST_CASE("rounding is to the nearest, ties to even, and saturates, bit by bit") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    for (const float number : telling_numbers(one.wanted)) {
      unsigned wanted = one.wanted.nearest(static_cast<double>(number));
      const unsigned sign = 1U << (one.format.exponent_bits + one.format.mantissa_bits);
      if (!one.format.minus_zero && wanted == sign) wanted = 0;
      if (to_narrow(number, one.format) != wanted) FAIL_CHECK(number);
    }
    CHECK(to_narrow(NAN, one.format) == one.format.not_a_number);
  }
}

TEST_CASE("bf16 is the upper half of a float, rounded, for each of its values and beside them") {
  for (std::uint32_t half = 0; half < 0x7f80; ++half) {
    for (const std::uint32_t below : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float number = float_of_bits(half << 16 | below);
      if (reference::bf16(number) >= 0x7f80) continue;  // rounds to infinity; casts saturate
      if (to_narrow(number, kBf16) != reference::bf16(number)) FAIL_CHECK(number);
    }
    const float value = from_narrow(half, kBf16);
    if (value != reference::from_bf16(static_cast<std::uint16_t>(half))) FAIL_CHECK(half);
  }
}

TEST_CASE(
    "scales of blocks that are an exponent alone are powers of two, and their inverse exact") {
  for (int exponent = -120; exponent <= 120; ++exponent) {
    const auto power = static_cast<float>(std::exp2(exponent));
    CHECK(power_of_two_below(power) == power);
    CHECK(power_of_two_below(std::nextafter(2.0F * power, 0.0F)) == power);
    // e8m0: 2^(code - 127).
    CHECK(std::exp2(inverse_as_e8m0(power) - 127) == 1.0 / std::exp2(exponent));
  }
  CHECK(block_factor(3.5F, 448.0F) == 128.0F);
  CHECK(block_factor(0.0F, 448.0F) == 448.0F / 1e-12F);
}

}  // namespace
}  // namespace prequel
