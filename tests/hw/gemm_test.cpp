#include "hw/kernels/gemm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "hw/base/errors.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

/// One tile of 100 x 100, ten compute units, nothing else to pay.
TiledGemm bare_tiles() {
  TiledGemm model;
  model.tiles = {{100.0, 100.0, 1.0}};
  model.splits = {1.0};
  model.efficiency = 1.0;
  model.tail = 1.0;
  model.l2_rate = 1e30;
  model.memory_fraction = 1.0;
  model.misaligned_fraction = 0.1;
  return model;
}

Device device_with(GemmModel model) {
  Device device;
  device.name = "toy";
  device.compute_units = 10.0;
  device.memory_rate = {1e30};
  device.peaks[static_cast<std::size_t>(Precision::bf16)] = 1e12;
  device.gemm = std::move(model);
  return device;
}

constexpr Gemm product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {m, n, k};
}

Device a100() {
  return read_device(Document::read(PREQUEL_DATA_DIR "/devices/a100-sxm-80gb.json"));
}

TEST_CASE("one full wave runs at the peak") {
  const Gemm gemm = product(1000, 100, 320);
  CHECK(price(device_with(bare_tiles()), gemm).value ==
        doctest::Approx(2.0 * 1000 * 100 * 320 / 1e12));
}

TEST_CASE("one row beyond a full wave costs a second wave") {
  const Device device = device_with(bare_tiles());
  CHECK(price(device, product(1001, 100, 320)).value ==
        doctest::Approx(2.0 * price(device, product(1000, 100, 320)).value));
}

TEST_CASE("a partial wave costs at least the tail and at most a full one") {
  TiledGemm model = bare_tiles();
  model.tail = 0.4;
  const Device device = device_with(model);
  const double wave = price(device, product(1000, 100, 320)).value;
  CHECK(price(device, product(1500, 100, 320)).value / wave ==
        doctest::Approx(1 + 0.4 + 0.6 * 0.5));
}

TEST_CASE("splitting k fills idle compute units") {
  TiledGemm model = bare_tiles();
  const Gemm narrow = product(100, 100, 6400);
  const double whole = price(device_with(model), narrow).value;
  model.splits = {1.0, 2.0};
  CHECK(price(device_with(model), narrow).value == doctest::Approx(whole / 2.0));
  model.split_s = whole;
  CHECK(price(device_with(model), narrow).value == doctest::Approx(whole));
}

TEST_CASE("a batch is as many tiles more") {
  const Device device = device_with(bare_tiles());
  Gemm gemm = product(100, 200, 320);
  gemm.batch = 5;
  CHECK(price(device, gemm).value == doctest::Approx(price(device, product(500, 200, 320)).value));
}

TEST_CASE("equal limits of compute and memory add up by their 4-norm") {
  Device device = device_with(bare_tiles());
  const Gemm gemm = product(1000, 100, 320);
  const double compute = price(device, gemm).value;
  device.memory_rate = {2.0 * (1000 * 320 + 100 * 320 + 1000 * 100) / compute};
  CHECK(price(device, gemm).value == doctest::Approx(compute * std::pow(2.0, 0.25)));
}

TEST_CASE("batched products of an odd head size leave the tensor cores") {
  const Device device = device_with(bare_tiles());
  Gemm scores{1024, 1024, 150, 8};
  CHECK(price(device, scores).value == doctest::Approx(flops(scores).value / (0.1 * 1e12)));
  scores.k = 152;
  CHECK(price(device, scores).value < flops(scores).value / (0.5 * 1e12));
  const Gemm values{1024, 150, 1024, 8};
  CHECK(price(device, values).value == doctest::Approx(flops(values).value / (0.1 * 1e12)));
}

TEST_CASE("a flat device has one rate") {
  const Device device = device_with(FlatGemm{0.5, 1e-6});
  const Gemm gemm = product(17, 19, 23);
  CHECK(price(device, gemm).value == doctest::Approx(1e-6 + flops(gemm).value / 0.5e12));
}

TEST_CASE("a precision that the device lacks is refused by name") {
  Gemm gemm = product(64, 64, 64);
  gemm.precision = Precision::fp8;
  CHECK_THROWS_WITH_AS(static_cast<void>(price(device_with(bare_tiles()), gemm)),
                       "device toy has no fp8 matrix products; it has bf16", InputError);
}

TEST_CASE("the weight gradient costs its factor over the forward product") {
  const Device device = a100();
  Gemm gemm{4096, 4096, 4096};
  const double forward = price(device, gemm).value;
  gemm.pass = GemmPass::wgrad;
  CHECK(price(device, gemm).value == doctest::Approx(1.05 * forward));
}

TEST_CASE("with one tile and no split, a product never gets cheaper when it grows") {
  Device device = a100();
  auto& model = std::get<TiledGemm>(device.gemm);
  model.tiles.resize(1);
  model.splits.resize(1);
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> size(1, 20000);
  std::uniform_int_distribution<std::int64_t> more(1, 500);
  for (int i = 0; i < 2000; ++i) {
    const Gemm gemm = product(size(random), size(random), size(random));
    const Seconds time = price(device, gemm);
    CHECK(price(device, product(gemm.m + more(random), gemm.n, gemm.k)) >= time);
    CHECK(price(device, product(gemm.m, gemm.n + more(random), gemm.k)) >= time);
    CHECK(price(device, product(gemm.m, gemm.n, gemm.k + more(random))) >= time);
  }
}

TEST_CASE("a product never gets slower when the memory or the cache gets faster") {
  const Device device = a100();
  std::mt19937_64 random(2);
  std::uniform_int_distribution<std::int64_t> size(1, 20000);
  for (int i = 0; i < 2000; ++i) {
    const Gemm gemm = product(size(random), size(random), size(random));
    Device faster = device;
    faster.memory_rate = faster.memory_rate * 1.3;
    CHECK(price(faster, gemm) <= price(device, gemm));
    std::get<TiledGemm>(faster.gemm).l2_rate *= 1.3;
    CHECK(price(faster, gemm) <= price(device, gemm));
  }
}

TEST_CASE("no product beats the peak") {
  const Device device = a100();
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::int64_t> size(1, 30000);
  for (int i = 0; i < 2000; ++i) {
    const Gemm gemm = product(size(random), size(random), size(random));
    CHECK(price(device, gemm) >= flops(gemm) / device.peak(Precision::bf16));
  }
}

}  // namespace
}  // namespace prequel
