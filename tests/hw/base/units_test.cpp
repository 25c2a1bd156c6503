#include "hw/base/units.hpp"

#include <doctest/doctest.h>

#include <concepts>

using namespace prequel;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Dividable = requires(A a, B b) {
  a / b;
};

}  // namespace

TEST_CASE("an amount divided by its rate is a time") {
  CHECK(Bytes{50e9} / BytesPerSecond{25e9} == Seconds{2.0});
  CHECK(Flops{6e12} / FlopsPerSecond{3e12} == Seconds{2.0});
  CHECK(Bytes{50e9} / Seconds{2.0} == BytesPerSecond{25e9});
  CHECK(Flops{6e12} / Seconds{2.0} == FlopsPerSecond{3e12});
}

TEST_CASE("quantities of one kind add up, scale, compare and have ratios") {
  Seconds time{1.5};
  time += Seconds{0.5};
  CHECK(time == Seconds{2.0});
  CHECK(2.0 * time - time / 2.0 == Seconds{3.0});
  CHECK(time * 2.0 > time);
  CHECK(Seconds{3.0} / Seconds{2.0} == 1.5);
}

TEST_CASE("quantities of different kinds do not mix") {
  static_assert(Addable<Seconds, Seconds>);
  static_assert(!Addable<Seconds, Bytes>);
  static_assert(!Addable<Seconds, double>);
  static_assert(!Dividable<Bytes, FlopsPerSecond>);
  static_assert(!std::convertible_to<double, Seconds>);
}
