#include "hw/kernels/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "hw/base/errors.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

Device device_with_attention(AttentionKernel kernel) {
  Device device;
  device.name = "toy";
  device.compute_units = 100.0;
  device.memory_rate = {1e12};
  device.peaks[static_cast<std::size_t>(Precision::fp16)] = 1e14;
  device.attention.push_back(std::move(kernel));
  return device;
}

AttentionKernel flat_kernel() {
  const AttentionPass forward{0.5, 0.0, {}, 0.0, 1e9, 1.0};
  const AttentionPass backward{0.5, 0.0, {}, 0.0, 1e9, 2.5};
  return {"flash-2", {"flash_attention"}, true, {{128.0, 128.0, false, forward, backward}}, {}};
}

constexpr FusedAttention attention() {
  return {.batch = 2, .seq = 2048, .heads = 16, .kv_heads = 16, .head_dim = 128};
}

TEST_CASE("a causal kernel does half of 4·b·a·s²·d") {
  const double square = 4.0 * 2 * 16 * 2048.0 * 2048.0 * 128;
  AttentionKernel kernel = flat_kernel();
  CHECK(flops(kernel, attention()).value == doctest::Approx(square / 2.0));
  kernel.skips_masked = false;
  CHECK(flops(kernel, attention()).value == doctest::Approx(square));
  kernel.skips_masked = true;
  FusedAttention whole = attention();
  whole.causal = false;
  CHECK(flops(kernel, whole).value == doctest::Approx(square));
}

TEST_CASE("without short-row and tail losses the time is FLOP over the rate") {
  const Device device = device_with_attention(flat_kernel());
  const double flop = flops(device.attention[0], attention()).value;
  CHECK(price(device, attention(), "flash-2").value == doctest::Approx(flop / 0.5e14));
  FusedAttention backward = attention();
  backward.backward = true;
  CHECK(price(device, backward, "flash-2").value == doctest::Approx(2.5 * flop / 0.5e14));
}

TEST_CASE("short rows and the longest block cost extra") {
  AttentionKernel kernel = flat_kernel();
  kernel.head_sizes[0].forward = {0.5, 512.0, {1e-5}, 0.25, 1e9, 1.0};
  const Device device = device_with_attention(kernel);
  const double flop = flops(kernel, attention()).value;
  const double block = 4.0 * 128 * 128 * 2048 / (0.5e14 / 100);
  CHECK(price(device, attention(), "flash-2").value ==
        doctest::Approx(1e-5 + flop * 1.25 / 0.5e14 + 0.25 * block));
}

TEST_CASE("arithmetic and traffic of q, k, v and o meet in the root of their squares") {
  AttentionKernel kernel = flat_kernel();
  const double arithmetic = price(device_with_attention(kernel), attention(), "flash-2").value;
  kernel.head_sizes[0].forward.memory_fraction = 0.5;
  FusedAttention grouped = attention();
  grouped.kv_heads = 4;
  const double traffic = 2.0 * 2 * 2048 * 128 * (2 * 16 + 2 * 4) / 0.5e12;
  CHECK(price(device_with_attention(kernel), grouped, "flash-2").value ==
        doctest::Approx(std::hypot(arithmetic, traffic)));
}

TEST_CASE("a head size between two measured ones is interpolated, outside the nearest counts") {
  AttentionKernel kernel = flat_kernel();
  AttentionHeadSize small = kernel.head_sizes[0];
  small.head_dim = 64.0;
  small.value_dim = 64.0;
  small.forward.efficiency = 0.7;
  kernel.head_sizes.insert(kernel.head_sizes.begin(), small);
  const Device device = device_with_attention(kernel);
  const auto rate = [&](std::int64_t head_dim) {
    FusedAttention sized = attention();
    sized.head_dim = head_dim;
    return (flops(kernel, sized) / price(device, sized, "flash-2")).value / 1e14;
  };
  CHECK(rate(32) == doctest::Approx(0.7));
  CHECK(rate(64) == doctest::Approx(0.7));
  CHECK(rate(96) == doctest::Approx(0.6));
  CHECK(rate(128) == doctest::Approx(0.5));
  CHECK(rate(256) == doctest::Approx(0.5));
}

TEST_CASE("a kernel is found by the name it was measured under") {
  const Device device = device_with_attention(flat_kernel());
  CHECK(&attention_kernel(device, "flash_attention") == &attention_kernel(device, "flash-2"));
}

TEST_CASE("an unknown kernel is priced by the nearest generation, and the device says so") {
  Device device = device_with_attention(flat_kernel());
  device.attention.insert(device.attention.begin(), flat_kernel());
  device.attention.front().name = "cudnn";
  device.attention.front().measured_as.clear();
  device.attention.push_back(flat_kernel());
  device.attention.back().name = "flash-4";
  const auto name_of = [&](const char* kernel) { return attention_kernel(device, kernel).name; };
  CHECK(name_of("flash-1-triton") == "flash-2");
  CHECK(name_of("flash-3") == "flash-2");  // as near as flash-4, and older
  CHECK(name_of("flash-5") == "flash-4");
  CHECK(name_of("aiter") == "flash-4");  // a vendor's, as fast as the newest
  CHECK(stand_in(device, attention(), "flash-3") ==
        "toy: flash-2 stands in for attention kernel flash-3");
  CHECK(stand_in(device, attention(), "flash_attention").empty());
  device.attention = {device.attention.front()};
  CHECK(name_of("aiter") == "cudnn");
  device.attention.clear();
  CHECK_THROWS_WITH_AS(
      static_cast<void>(attention_kernel(device, "flash-2")),
      "device toy has no fused attention kernel, so none for \"flash-2\"; use unfused attention",
      InputError);
}

TEST_CASE("every shape and format is priced by the nearest constants, and the device says which") {
  const Device device = device_with_attention(flat_kernel());
  FusedAttention odd = attention();
  CHECK(stand_in(device, odd, "flash-2").empty());
  odd.precision = Precision::fp8;
  odd.head_dim = 192;
  odd.value_dim = 128;
  CHECK(price(device, odd, "flash-2").value ==
        doctest::Approx(flops(device.attention[0], odd).value / 0.5e14));
  CHECK(stand_in(device, odd, "flash-2") ==
        "toy: attention of 8-bit formats by two-byte constants, head sizes 192 and 128 by those of "
        "equal ones");
  odd = attention();
  odd.head_dim = 256;
  CHECK(stand_in(device, odd, "flash-2") == "toy: attention of head size 256 by that of 128");
}

TEST_CASE("latent attention does the products of both head sizes, by constants of its own") {
  AttentionKernel kernel = flat_kernel();
  AttentionHeadSize latent = kernel.head_sizes[0];
  latent.head_dim = 192.0;
  latent.forward.efficiency = 0.25;
  kernel.head_sizes.push_back(latent);
  FusedAttention what = attention();
  what.head_dim = 192;
  what.value_dim = 128;
  const double square = 2.0 * 2 * 16 * 2048.0 * 2048.0 * (192 + 128);
  CHECK(flops(kernel, what).value == doctest::Approx(square / 2.0));
  CHECK(price(device_with_attention(kernel), what, "flash-2").value ==
        doctest::Approx(square / 2.0 / 0.25e14));
  CHECK(stand_in(device_with_attention(kernel), what, "flash-2").empty());
}

TEST_CASE("a window bounds the pairs, and costs nothing where it holds all keys") {
  const AttentionKernel kernel = flat_kernel();
  FusedAttention what = attention();
  const double whole = flops(kernel, what).value;
  what.window = 2048;
  CHECK(flops(kernel, what).value == whole);
  what.window = 384;  // 512 with the block at its edge
  CHECK(flops(kernel, what).value == doctest::Approx(whole * 2 * 0.25 * (1 - 0.125)));
  what.causal = false;
  CHECK(flops(kernel, what).value == doctest::Approx(whole * 2 * 0.25));
}

TEST_CASE("a window never costs more than none, and a wider one never less") {
  AttentionKernel kernel = flat_kernel();
  kernel.head_sizes[0].forward = {0.6, 900.0, {1e-5}, 0.5, 0.5, 1.0};
  kernel.window = WindowedAttention{{2e-5}, 0.2, {1e-6}, 2.0};
  const Device device = device_with_attention(kernel);
  for (std::int64_t seq = 512; seq <= 65536; seq *= 2) {
    FusedAttention what = attention();
    what.seq = seq;
    const Seconds whole = price(device, what, "flash-2");
    Seconds before{};
    for (what.window = 64; what.window <= 2 * seq; what.window *= 2) {
      const Seconds time = price(device, what, "flash-2");
      CHECK(time <= whole);
      CHECK(time >= before);
      before = time;
    }
  }
}

TEST_CASE("in a window, blocks of queries take a time of their own, and masked keys more") {
  AttentionKernel kernel = flat_kernel();
  FusedAttention what = attention();
  what.window = 128;
  const auto arithmetic = [&](Seconds block, double edge) {
    // Without traffic and launch.
    kernel.window = WindowedAttention{{}, 1e9, block, edge};
    return price(device_with_attention(kernel), what, "flash-2").value;
  };
  const double plain = arithmetic({}, 0.0);
  CHECK(arithmetic({}, 1.5) == doctest::Approx(2.5 * plain));  // all keys are at an edge
  const double blocks = double(what.batch * what.heads) * std::ceil(double(what.seq) / 128);
  const double units = device_with_attention(kernel).compute_units;
  CHECK(arithmetic({1e-7}, 0.0) == doctest::Approx(plain + blocks * 1e-7 / units));
  what.window = 384;
  const double wide = arithmetic({}, 0.0);
  CHECK(arithmetic({}, 1.5) < 2.4 * wide);
  CHECK(arithmetic({}, 1.5) > 1.5 * wide);
}

TEST_CASE("in a window, blocks of 8-bit formats take a time of their own") {
  AttentionKernel kernel = flat_kernel();
  kernel.window = WindowedAttention{{}, 1e9, {1e-6}, 0.0};
  FusedAttention what = attention();
  what.window = 128;
  what.precision = Precision::fp8;
  const double alike = price(device_with_attention(kernel), what, "flash-2").value;
  kernel.window->fp8_factor = 1.5;
  const double blocks = double(what.batch * what.heads) * std::ceil(double(what.seq) / 128);
  const double more = 0.5e-6 * blocks / device_with_attention(kernel).compute_units;
  CHECK(price(device_with_attention(kernel), what, "flash-2").value ==
        doctest::Approx(alike + more));
  what.precision = Precision::bf16;
  CHECK(price(device_with_attention(kernel), what, "flash-2").value == doctest::Approx(alike));
}

TEST_CASE("a window that holds all keys costs what none does") {
  AttentionKernel kernel = flat_kernel();
  kernel.head_sizes[0].forward = {0.6, 900.0, {1e-5}, 0.5, 0.5, 1.0};
  kernel.window = WindowedAttention{{1e-6}, 0.9, {}, 0.0};
  FusedAttention what = attention();
  const Seconds none = price(device_with_attention(kernel), what, "flash-2");
  what.window = what.seq;
  CHECK(price(device_with_attention(kernel), what, "flash-2") == none);
  what.window = what.seq - 1;
  CHECK(price(device_with_attention(kernel), what, "flash-2") < none);
}

TEST_CASE("heads that share keys are rows of one block, which sees fewer keys of its window") {
  AttentionKernel kernel = flat_kernel();
  kernel.window = WindowedAttention{{}, 0.5, {}, 0.0};
  FusedAttention what = attention();
  what.window = 128;
  what.kv_heads = what.heads;
  const double alone = flops(kernel, what).value;
  what.kv_heads = what.heads / 4;
  const double shared = flops(kernel, what).value;
  const double s = double(what.seq);
  CHECK(shared == doctest::Approx(alone * (160 * (1 - 80 / s)) / (256 * (1 - 128 / s))));
  what.backward = true;  // by blocks of one head
  what.kv_heads = what.heads;
  const double backward = flops(kernel, what).value;
  what.kv_heads = what.heads / 4;
  CHECK(flops(kernel, what).value == backward);
  kernel.window.reset();
  what.backward = false;
  CHECK(flops(kernel, what).value == doctest::Approx(alone));
}

TEST_CASE("chunks do the work of sequences of their own, the last of a shorter one") {
  AttentionKernel kernel = flat_kernel();
  FusedAttention whole = attention();
  whole.seq = 5 * 1024 + 512;
  FusedAttention chunked = whole;
  chunked.chunk = 1024;
  FusedAttention one = whole;
  one.seq = 1024;
  FusedAttention rest = whole;
  rest.seq = 512;
  for (const bool causal : {true, false}) {
    for (FusedAttention* each : {&whole, &chunked, &one, &rest}) each->causal = causal;
    CHECK(flops(kernel, chunked).value ==
          doctest::Approx(5 * flops(kernel, one).value + flops(kernel, rest).value));
    double shared = 0;  // what ranks of a context group do, each with a part of the queries
    FusedAttention part = chunked;
    part.kv_seq = chunked.seq;
    for (part.seq = 1; part.seq <= 1024; part.seq *= 2) shared += flops(kernel, part).value;
    CHECK(shared == doctest::Approx(2047.0 / 5632 * flops(kernel, chunked).value));
  }
  chunked.chunk = whole.chunk + whole.seq;
  CHECK(flops(kernel, chunked).value == flops(kernel, whole).value);

  // The losses of short rows and of a long block are those of a chunk's rows and blocks.
  kernel.head_sizes[0].forward = {0.6, 900.0, {1e-5}, 0.5, 0.5, 1.0};
  const Device device = device_with_attention(kernel);
  FusedAttention chunks = attention();
  chunks.seq = 16384;
  chunks.chunk = 2048;
  FusedAttention sequences = chunks;
  sequences.chunk = 0;
  sequences.batch *= 8;
  sequences.seq = 2048;
  CHECK(price(device, chunks, "flash-2").value ==
        doctest::Approx(price(device, sequences, "flash-2").value));
}

TEST_CASE("queries over a part of the keys do their share of the pairs") {
  const AttentionKernel kernel = flat_kernel();
  FusedAttention ring = attention();
  ring.causal = false;
  const double all = flops(kernel, ring).value;
  ring.kv_seq = 512;
  CHECK(flops(kernel, ring).value == doctest::Approx(all / 4.0));
}

TEST_CASE("longer sequences, more heads and more sequences never take less time") {
  AttentionKernel kernel = flat_kernel();
  kernel.head_sizes[0].forward = {0.6, 900.0, {1e-5}, 0.5, 0.5, 1.0};
  const Device device = device_with_attention(kernel);
  std::mt19937_64 random(5);
  std::uniform_int_distribution<std::int64_t> size(1, 64);
  for (int i = 0; i < 1000; ++i) {
    const FusedAttention one{.batch = size(random),
                             .seq = 64 * size(random),
                             .heads = size(random),
                             .kv_heads = 1,
                             .head_dim = 128};
    const Seconds time = price(device, one, "flash-2");
    FusedAttention more = one;
    more.seq += size(random);
    CHECK(price(device, more, "flash-2") >= time);
    more = one;
    more.heads += size(random);
    CHECK(price(device, more, "flash-2") >= time);
    more = one;
    more.batch += size(random);
    CHECK(price(device, more, "flash-2") >= time);
  }
}

}  // namespace
}  // namespace prequel
