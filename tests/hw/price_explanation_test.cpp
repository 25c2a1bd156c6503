#include "hw/terms/price_explanation.hpp"

#include <doctest/doctest.h>

#include <random>

#include "hw/cluster.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

Device device(const char* name) {
  return read_device(Document::read(std::string(PREQUEL_DATA_DIR "/devices/") + name + ".json"));
}

Seconds longest(const PriceExplanation& why) {
  return why.binding().time;
}

TEST_CASE("an explained product takes as long as it is priced, and its limits no longer") {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 9000);
  for (const char* name : {"a100-sxm-80gb", "h100-sxm", "a64fx"}) {
    const Device machine = device(name);
    for (int i = 0; i < 300; ++i) {
      const Precision precision = name == std::string("a64fx") ? Precision::fp32 : Precision::bf16;
      const Gemm gemm{size(random), size(random), size(random),
                      1 + i % 3,    precision,    i % 2 ? GemmPass::wgrad : GemmPass::forward};
      const PriceExplanation why = explain_price(machine, gemm);
      CHECK(why.time == price(machine, gemm));
      CHECK(why.flop == flops(gemm));
      CHECK(longest(why).value <= why.time.value);
      CHECK(why.constants == "device.gemm");
    }
  }
}

/// One tile of 128 x 128 on ten compute units of 1e11 FLOP/s.
Device toy() {
  TiledGemm model;
  model.tiles = {{128.0, 128.0, 1.0}};
  model.splits = {1.0};
  model.efficiency = 1.0;
  model.launch = {2e-5};
  model.tail = 1.0;
  model.l2_rate = {1e30};
  model.memory_fraction = 1.0;
  model.misaligned_fraction = 0.1;
  Device device;
  device.compute_units = 10.0;
  device.memory_rate = {1e10};
  device.peaks[static_cast<std::size_t>(Precision::bf16)] = 1e12;
  device.gemm = model;
  return device;
}

TEST_CASE("what binds a product is its rate, its waves, its traffic or its launch") {
  const auto binding = [](const Gemm& gemm) { return explain_price(toy(), gemm).binding().name; };
  CHECK(binding({1280, 1280, 4096}) == "matrix rate");
  CHECK(binding({128, 128, 4096}) == "wave quantisation");
  CHECK(binding({1280, 128, 32}) == "memory");
  CHECK(binding({128, 128, 32}) == "launch");
  CHECK(binding({2048, 2048, 75, 16}) == "vector rate");
}

TEST_CASE("the model of a product names tiles and waves, or what keeps it off the tensor cores") {
  CHECK(explain_price(toy(), Gemm{1280, 320, 4096}).model ==
        "tiled matrix product: 30 tiles of 128 x 128 in 3.00 waves over 10 units");
  CHECK(explain_price(toy(), Gemm{2048, 2048, 75, 16}).model ==
        "tiled matrix product, off the tensor cores: k or n is no multiple of 16 bytes");
}

TEST_CASE("memory-bound kernels and fused attention are explained by what they are priced") {
  const Device h100 = device("h100-sxm");
  for (const double rows : {0.0, 64.0, 8192.0}) {
    const Stream stream{StreamKind::layer_norm, {1e6}, rows};
    const PriceExplanation why = explain_price(h100, stream);
    CHECK(why.time == price(h100, stream));
    CHECK(longest(why).value <= why.time.value);
  }
  const FusedAttention attention{2, 4096, 16, 4, 128, true, true};
  const PriceExplanation why = explain_price(h100, attention, "flash-3");
  CHECK(why.time == price(h100, attention, "flash-3"));
  CHECK(why.binding().name == "matrix rate");
  CHECK(why.constants == "device.attention.kernels.flash-3");
}

TEST_CASE("a collective is explained by the algorithm that is the cheapest") {
  Cluster cluster = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-a100.json"));
  cluster.node = {};
  cluster.node.ring = {{1e-5}, {1e-6}, {100e9}, {}, {}};
  cluster.node.tree = LinkModel{{1e-6}, {1e-7}, {50e9}, {}, {}};
  const GroupShape group = group_shape(cluster, 8, 8, 1);
  const auto why = [&](double bytes) {
    return explain_collective(cluster, CollectiveOp::all_reduce, group, {bytes});
  };
  CHECK(why(1e9).model == "ring of 8 ranks over device links");
  CHECK(why(1e9).binding().name == "links");
  CHECK(why(1e3).model == "tree of 8 ranks over device links");
  CHECK(why(1e3).binding().name == "latency");
  for (const double bytes : {1e3, 1e6, 1e9}) {
    CHECK(why(bytes).time == collective_time(cluster, CollectiveOp::all_reduce, group, {bytes}));
  }
}

}  // namespace
}  // namespace prequel
