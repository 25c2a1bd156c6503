#include "hw/kernels/memory_bound.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "hw/device.hpp"

namespace prequel {
namespace {

Device device_with_streams(StreamModel model) {
  Device device;
  device.memory_rate = {1e12};
  device.host_link = {2e10};
  device.streams.fill(model);
  return device;
}

TEST_CASE("bytes beyond the cache run at the memory's rate, the first ones at the cache's") {
  const Device device = device_with_streams({{1e-6}, {2e6}, 1.25, 0.5});
  CHECK(price(device, Stream{StreamKind::gelu, {1e6}}).value ==
        doctest::Approx(1e-6 + 1e6 / 1.25e12));
  CHECK(price(device, Stream{StreamKind::gelu, {5e6}}).value ==
        doctest::Approx(1e-6 + 2e6 / 1.25e12 + 3e6 / 0.5e12));
}

TEST_CASE("what kernels leave to the next runs at the cache's rate where three tensors fit it") {
  Device device = device_with_streams({});
  device.cache = {90e6};
  device.cache_rate = {device.memory_rate.value * 4};
  Stream chain{StreamKind::fused_pointwise, {400e6}};
  const double all = price(device, chain).value;
  chain.handed = {300e6};
  chain.tensor = {30e6};
  CHECK(price(device, chain).value == doctest::Approx(all * (0.25 + 0.75 / 4)));
  chain.tensor = {31e6};
  CHECK(price(device, chain).value == doctest::Approx(all));
}

TEST_CASE("each kind has its own constants") {
  Device device = device_with_streams({});
  device.streams[static_cast<std::size_t>(StreamKind::swiglu)].memory_fraction = 0.5;
  CHECK(price(device, Stream{StreamKind::swiglu, {1e9}}).value == doctest::Approx(2e-3));
  CHECK(price(device, Stream{StreamKind::copy, {1e9}}).value == doctest::Approx(1e-3));
}

TEST_CASE("a kernel takes at least as long as one block takes for one row") {
  const Device device = device_with_streams({{}, {}, 1.0, 1.0, {}, {1e9}});
  CHECK(price(device, Stream{StreamKind::rope, {1e6}, 1.0}).value ==
        doctest::Approx(1e-3).epsilon(1e-6));
  CHECK(price(device, Stream{StreamKind::rope, {1e6}, 1e6}).value ==
        doctest::Approx(1e-6).epsilon(1e-6));
  CHECK(price(device, Stream{StreamKind::rope, {1e6}, 1e3}).value ==
        doctest::Approx(1e-6 * std::pow(2.0, 0.25)));
}

TEST_CASE("every row costs as much as its overhead in bytes") {
  const Device device = device_with_streams({{}, {}, 1.0, 1.0, {100.0}});
  CHECK(price(device, Stream{StreamKind::rope, {1e6}, 1e4}).value == doctest::Approx(2e-6));
}

TEST_CASE("a last wave of few rows costs its share of a full one") {
  Device device = device_with_streams({{}, {}, 1.0, 1.0, {}, {1e15}, 2.0, 0.5});
  device.compute_units = 50.0;
  const auto time = [&](double rows) {
    return price(device, Stream{StreamKind::swiglu, {rows * 1e6}, rows}).value;
  };
  CHECK(time(60.0) == doctest::Approx(60e-6));    // less than a wave: as the memory moves it
  CHECK(time(100.0) == doctest::Approx(100e-6));  // a full wave
  CHECK(time(110.0) == doctest::Approx((1.0 + 0.5 + 0.5 * 0.1) * 100e-6));
  CHECK(time(200.0) == doctest::Approx(200e-6));
  CHECK(time(1e6 + 50.0) == doctest::Approx((1e6 + 75.0) * 1e-6));
}

TEST_CASE("more rows of one width never take less time, in waves or not") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  for (int i = 0; i < 1000; ++i) {
    Device device = device_with_streams({1e-6 * any(random), 2e7 * any(random), 1.4, 0.8,
                                         1e3 * any(random), 1e9 + 1e11 * any(random),
                                         1.0 + std::floor(3.0 * any(random)), any(random)});
    device.compute_units = std::ceil(132.0 * any(random));
    const double width = 1e3 + 1e5 * any(random);
    const double few = std::ceil(1e3 * any(random));
    const double many = few + std::ceil(300.0 * any(random));
    CHECK(price(device, Stream{StreamKind::rope, {few * width}, few}) <=
          price(device, Stream{StreamKind::rope, {many * width}, many}));
  }
}

TEST_CASE("more bytes never take less time") {
  const Device device = device_with_streams({1e-6, 2e7, 1.4, 0.8, 1e3, 9e9});
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> bytes(0.0, 1e8);
  for (int i = 0; i < 1000; ++i) {
    const double few = bytes(random);
    const double many = few + bytes(random);
    for (const double rows : {0.0, 1.0, 1e4}) {
      CHECK(price(device, Stream{StreamKind::rope, {few}, rows}) <=
            price(device, Stream{StreamKind::rope, {many}, rows}));
    }
  }
}

TEST_CASE("a copy to the host runs at the link's rate") {
  CHECK(host_copy_time(device_with_streams({}), {4e10}).value == doctest::Approx(2.0));
}

}  // namespace
}  // namespace prequel
