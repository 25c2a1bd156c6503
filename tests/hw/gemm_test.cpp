#include "hw/kernels/gemm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "hw/base/errors.hpp"
#include "hw/device.hpp"
#include "tests/error_text.hpp"

namespace prequel {
namespace {

/// One tile of 100 x 100, ten compute units, nothing else to pay.
TiledGemm bare_tiles() {
  TiledGemm model;
  model.tiles = {{100.0, 100.0, 1.0}};
  model.splits = {1.0};
  model.efficiency = 1.0;
  model.tail = 1.0;
  model.l2_rate = {1e30};
  model.memory_fraction = 1.0;
  model.misaligned_fraction = 0.1;
  return model;
}

Device device_with_products(GemmModel model) {
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
  CHECK(price(device_with_products(bare_tiles()), gemm).value ==
        doctest::Approx(2.0 * 1000 * 100 * 320 / 1e12));
}

TEST_CASE("one row beyond a full wave costs a second wave") {
  const Device device = device_with_products(bare_tiles());
  CHECK(price(device, product(1001, 100, 320)).value ==
        doctest::Approx(2.0 * price(device, product(1000, 100, 320)).value));
}

TEST_CASE("a partial wave costs at least the tail and at most a full one") {
  TiledGemm model = bare_tiles();
  model.tail = 0.4;
  const Device device = device_with_products(model);
  const double wave = price(device, product(1000, 100, 320)).value;
  CHECK(price(device, product(1500, 100, 320)).value / wave ==
        doctest::Approx(1 + 0.4 + 0.6 * 0.5));
}

TEST_CASE("splitting k fills idle compute units") {
  TiledGemm model = bare_tiles();
  const Gemm narrow = product(100, 100, 6400);
  const double whole = price(device_with_products(model), narrow).value;
  model.splits = {1.0, 2.0};
  CHECK(price(device_with_products(model), narrow).value == doctest::Approx(whole / 2.0));
  model.split = {whole};
  CHECK(price(device_with_products(model), narrow).value == doctest::Approx(whole));
}

TEST_CASE("a batch is as many tiles more") {
  const Device device = device_with_products(bare_tiles());
  Gemm gemm = product(100, 200, 320);
  gemm.batch = 5;
  CHECK(price(device, gemm).value == doctest::Approx(price(device, product(500, 200, 320)).value));
}

TEST_CASE("equal limits of compute and memory add up by their 4-norm") {
  Device device = device_with_products(bare_tiles());
  const Gemm gemm = product(1000, 100, 320);
  const double compute = price(device, gemm).value;
  device.memory_rate = {2.0 * (1000 * 320 + 100 * 320 + 1000 * 100) / compute};
  CHECK(price(device, gemm).value == doctest::Approx(compute * std::pow(2.0, 0.25)));
}

TEST_CASE("batched products of an odd head size leave the tensor cores") {
  const Device device = device_with_products(bare_tiles());
  Gemm scores{1024, 1024, 150, 8};
  CHECK(price(device, scores).value == doctest::Approx(flops(scores).value / (0.1 * 1e12)));
  scores.k = 152;
  CHECK(price(device, scores).value < flops(scores).value / (0.5 * 1e12));
  const Gemm values{1024, 150, 1024, 8};
  CHECK(price(device, values).value == doctest::Approx(flops(values).value / (0.1 * 1e12)));
}

TEST_CASE("a flat device has one rate") {
  const Device device = device_with_products(FlatGemm{0.5, {1e-6}});
  const Gemm gemm = product(17, 19, 23);
  CHECK(price(device, gemm).value == doctest::Approx(1e-6 + flops(gemm).value / 0.5e12));
}

TEST_CASE("a precision that the device lacks is refused by name") {
  Gemm gemm = product(64, 64, 64);
  gemm.precision = Precision::fp8;
  CHECK_THROWS_WITH_AS(static_cast<void>(price(device_with_products(bare_tiles()), gemm)),
                       "device toy has no fp8 matrix products; it has bf16", InputError);
}

TEST_CASE("the weight gradient costs its factor over the forward product") {
  const Device device = a100();
  Gemm gemm{4096, 4096, 4096};
  const double forward = price(device, gemm).value;
  gemm.pass = GemmPass::wgrad;
  CHECK(price(device, gemm).value == doctest::Approx(1.05 * forward));
}

TEST_CASE("a format without a model of its own takes the nearest by the ratio of peaks") {
  Device device = device_with_products(bare_tiles());
  device.peaks[static_cast<std::size_t>(Precision::fp8)] = 2e12;
  device.memory_rate = {1e30};
  Gemm gemm = product(1000, 100, 320);
  const double half = price(device, gemm).value;
  gemm.precision = Precision::mxfp8;
  CHECK(error_text([&] { (void)price(device, gemm); }) ==
        "device toy has no mxfp8 matrix products; it has bf16, fp8; fp8 with the recipe "
        "delayed, current or block would do");
  // Tensor cores that know 4 bits know scales of 32 elements.
  device.peaks[static_cast<std::size_t>(Precision::fp4)] = 4e12;
  CHECK(price(device, gemm).value == doctest::Approx(half / 2.0));
  CHECK(stand_in(device, Precision::mxfp8) ==
        "toy: constants of bf16 products, by the ratio of the peaks, stand in for those of mxfp8");
  CHECK(stand_in(device, Precision::bf16).empty());
  TiledGemm slower = bare_tiles();
  slower.efficiency = 0.5;
  device.gemm_formats[static_cast<std::size_t>(Precision::fp8_block)] = slower;
  CHECK(price(device, gemm).value == doctest::Approx(half));
  CHECK(explain_price(device, gemm).constants == "device.gemm_formats.fp8-block");
  CHECK(stand_in(device, Precision::fp8_block).empty());
}

TEST_CASE("the sum over k runs in steps of 64 bytes of the format, without its scales") {
  Device device = device_with_products(bare_tiles());
  device.peaks.fill(1e12);
  for (const auto& [precision, step] :
       {std::pair{Precision::bf16, 32}, std::pair{Precision::fp8, 64},
        std::pair{Precision::mxfp8, 64}, std::pair{Precision::fp4, 128}}) {
    Gemm gemm = product(1000, 100, 3 * step);
    gemm.precision = precision;
    const double whole = price(device, gemm).value;
    gemm.k -= step - 1;
    CHECK(price(device, gemm).value == doctest::Approx(whole));
    gemm.k -= 1;
    CHECK(price(device, gemm).value == doctest::Approx(whole * 2.0 / 3.0));
  }
}

TEST_CASE("an fp32 gradient is read and written where the device's library adds to it") {
  TiledGemm model = bare_tiles();
  model.gradient_bytes = 8.0;
  Device device = device_with_products(model);
  device.memory_rate = {1.0};
  Gemm gemm = product(100, 200, 320);
  const double operands = 2.0 * (100 * 320 + 200 * 320);
  CHECK(price(device, gemm).value == doctest::Approx(operands + 2.0 * 100 * 200));
  gemm.pass = GemmPass::wgrad;
  CHECK(price(device, gemm).value == doctest::Approx(operands + 8.0 * 100 * 200));
}

TEST_CASE("products of groups share the waves that single ones do not fill") {
  const Device device = device_with_products(bare_tiles());
  // Five tiles a group: ten compute units hold two groups at a time.
  const double single = price(device, product(500, 100, 320)).value;
  const GroupedGemm product{.groups = 8, .rows = 8 * 500, .outputs = 100, .inputs = 320};
  CHECK(price(device, product).value == doctest::Approx(4.0 * single));
}

TEST_CASE("the three passes of a grouped product are those of each group") {
  const Device device = device_with_products(bare_tiles());
  GroupedGemm product{.groups = 10, .rows = 10 * 640, .outputs = 304, .inputs = 320};
  const auto batched = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return price(device, Gemm{m, n, k, 10}).value;
  };
  CHECK(price(device, product).value == doctest::Approx(batched(640, 304, 320)));
  product.pass = GemmPass::dgrad;
  CHECK(price(device, product).value == doctest::Approx(batched(640, 320, 304)));
  product.pass = GemmPass::wgrad;
  CHECK(price(device, product).value == doctest::Approx(batched(304, 320, 640)));
}

TEST_CASE("rows of a group are filled up, and a kernel a group is launched a group") {
  Device device = device_with_products(bare_tiles());
  device.grouped = {{1e-3}, {1e-2}};
  device.compute_units = 4.0;
  GroupedGemm product{.groups = 4, .rows = 4 * 90, .outputs = 100, .inputs = 320};
  const double bare = price(device, product).value;
  product.padding = 128;
  CHECK(price(device, product).value > bare);  // 128 rows are two tiles
  product.padding = 1;
  product.one_launch = false;
  CHECK(price(device, product).value == doctest::Approx(bare + 4e-2));
  device.grouped.efficiency = 0.5;
  device.grouped.launch = {};
  product.one_launch = true;
  CHECK(price(device, product).value == doctest::Approx(2.0 * (bare - 1e-3)));
}

TEST_CASE("tiles of groups are loaded and finished as their own library does it") {
  TiledGemm tiles = bare_tiles();
  tiles.tile_overhead = {1e-3};
  Device device = device_with_products(tiles);
  const GroupedGemm product{.groups = 4, .rows = 4 * 90, .outputs = 100, .inputs = 320};
  const double alike = price(device, product).value;
  device.grouped.tile_overhead_factor = 0.5;
  CHECK(price(device, product).value < alike);
  device.grouped.tile_overhead_factor = 1.0;
  device.grouped.l2_factor = 1e-24;
  CHECK(price(device, product).value > 2.0 * alike);
  CHECK(price(device, Gemm{90, 100, 320, 4}) ==
        price(device_with_products(tiles),
              Gemm{90, 100, 320, 4}));  // single products know nothing of it
}

TEST_CASE("groups of unequal sizes cost as their tiles, equal ones as the mean says") {
  Device device = a100();
  std::mt19937_64 random(4);
  std::uniform_int_distribution<std::int64_t> size(1, 3000);
  for (int i = 0; i < 200; ++i) {
    GroupedGemm product{.groups = 8, .outputs = 2048, .inputs = 4096};
    product.pass = static_cast<GemmPass>(i % 3);
    product.padding = i % 2 ? 16 : 1;
    const std::int64_t rows = size(random);
    product.rows = 8 * rows;
    const std::vector<std::int64_t> even(8, rows);
    CHECK(price(device, product, even).value == doctest::Approx(price(device, product).value));
  }
  // An expert without tokens moves no weights.
  const GroupedGemm product{.outputs = 2048, .inputs = 4096};
  const std::vector<std::int64_t> all{1000, 1000};
  const std::vector<std::int64_t> one{1000, 0};
  const std::vector<std::int64_t> alone{1000};
  CHECK(price(device, product, one) == price(device, product, alone));
  CHECK(price(device, product, all) > price(device, product, one));
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
    auto& cache = std::get<TiledGemm>(faster.gemm).l2_rate;
    cache = cache * 1.3;
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
