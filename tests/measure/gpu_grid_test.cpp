#include "calibrate/measure/gpu_grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "hw/kernels/memory_bound.hpp"
#include "hw/kernels/quantize.hpp"

namespace prequel {
namespace {

std::size_t products(const std::vector<Work>& works, Precision precision, GemmPass pass) {
  return static_cast<std::size_t>(std::ranges::count_if(works, [&](const Work& work) {
    const auto* gemm = std::get_if<Gemm>(&work);
    return gemm && gemm->precision == precision && gemm->pass == pass && gemm->batch == 1;
  }));
}

TEST_CASE("products of every format and pass are measured, fp8 where the device has it") {
  const auto with = gpu_grid(nvidia_abilities(90, true));
  const auto without = gpu_grid(nvidia_abilities(80, true));
  for (const GemmPass pass : {GemmPass::forward, GemmPass::dgrad, GemmPass::wgrad}) {
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32}) {
      CHECK(products(with, precision, pass) > 0);
    }
    CHECK(products(with, Precision::fp8, pass) > 0);
    CHECK(products(without, Precision::fp8, pass) == 0);
  }
}

TEST_CASE("scales of blocks are measured where tensor cores or cuBLASLt apply them") {
  const auto has = [](int capability, Precision precision) {
    return products(gpu_grid(nvidia_abilities(capability, true)), precision, GemmPass::wgrad) > 0;
  };
  for (const int capability : {80, 90, 100, 103}) {
    CAPTURE(capability);
    CHECK(has(capability, Precision::fp8_block) == (capability == 90));
    CHECK(has(capability, Precision::mxfp8) == (capability >= 100));
    CHECK(has(capability, Precision::fp4) == (capability >= 100));
  }
}

TEST_CASE("products of experts are measured in all passes, in one launch and one an expert") {
  for (const int capability : {80, 90, 100}) {
    std::map<std::pair<GemmPass, bool>, std::size_t> points;
    for (const Work& work : gpu_grid(nvidia_abilities(capability, false))) {
      const auto* what = std::get_if<GroupedGemm>(&work);
      if (!what) continue;
      CHECK(nvidia_abilities(capability, false).formats.contains(what->precision));
      CHECK(what->rows % what->groups == 0);
      if (what->precision == Precision::bf16) ++points[{what->pass, what->one_launch}];
    }
    CHECK(points.size() == 6);
    for (const auto& [kind, count] : points) CHECK(count >= 20);
  }
}

TEST_CASE(
    "AMD's GPUs are measured in the formats that they and hipBLASLt have, and say what is "
    "missing") {
  const auto formats = [](const char* architecture) {
    return amd_abilities(architecture, true).formats;
  };
  CHECK(formats("gfx90a:sramecc+:xnack-") ==
        std::set{Precision::fp32, Precision::fp16, Precision::bf16});
  CHECK(formats("gfx942:sramecc+:xnack-") == std::set{Precision::fp32, Precision::tf32,
                                                      Precision::fp16, Precision::bf16,
                                                      Precision::fp8});
  CHECK(formats("gfx950") == std::set{Precision::fp32, Precision::fp16, Precision::bf16,
                                      Precision::fp8, Precision::mxfp8});
  for (const char* architecture : {"gfx90a", "gfx942", "gfx950"}) {
    CAPTURE(architecture);
    const GpuAbilities abilities = amd_abilities(architecture, true);
    const auto grid = gpu_grid(abilities);
    for (const Precision format : {Precision::bf16, Precision::tf32, Precision::fp8,
                                   Precision::fp8_block, Precision::mxfp8, Precision::fp4}) {
      CHECK((products(grid, format, GemmPass::wgrad) > 0) == abilities.formats.contains(format));
    }
    for (const Work& work : grid) CHECK_FALSE(std::holds_alternative<FusedAttention>(work));
    REQUIRE(abilities.lacks.size() == 2);
    CHECK(abilities.lacks[0].find("fp4") != std::string::npos);
    CHECK(abilities.lacks[1].find("fused attention") != std::string::npos);
  }
  CHECK(has_fnuz("gfx942:sramecc+:xnack-"));
  CHECK_FALSE(has_fnuz("gfx950"));
  // Whose cache before memory the runtime does not tell.
  CHECK(amd_abilities("gfx90a", true).cache_bytes == 0);
  CHECK(amd_abilities("gfx942", true).cache_bytes == std::size_t{256} << 20);
}

TEST_CASE("without hipBLASLt no product is measured, and that is said") {
  const GpuAbilities abilities = amd_abilities("gfx942", false);
  std::size_t streams = 0;
  for (const Work& work : gpu_grid(abilities)) {
    CHECK_FALSE(std::holds_alternative<Gemm>(work));
    CHECK_FALSE(std::holds_alternative<GroupedGemm>(work));
    CHECK_FALSE(std::holds_alternative<AttentionChain>(work));
    streams += std::holds_alternative<Stream>(work) ? 1 : 0;
  }
  CHECK(streams > 100);
  CHECK(abilities.lacks.front().find("built without hipBLASLt") != std::string::npos);
}

TEST_CASE("a GPU says which formats it lacks, and that there is no cuDNN") {
  CHECK(nvidia_abilities(80, true).lacks.size() == 1);
  CHECK(nvidia_abilities(80, true).lacks[0].find("fp8, fp8-block, mxfp8, fp4") !=
        std::string::npos);
  CHECK(nvidia_abilities(100, false).lacks[1].find("cuDNN") != std::string::npos);
}

TEST_CASE("attention in fp8 is of both passes, and from Hopper on") {
  const auto narrow = [](int capability, bool backward) {
    const auto works = gpu_grid(nvidia_abilities(capability, true));
    return std::ranges::count_if(works, [backward](const Work& work) {
      const auto* what = std::get_if<FusedAttention>(&work);
      return what && what->precision == Precision::fp8 && what->backward == backward;
    });
  };
  for (const bool backward : {false, true}) CHECK(narrow(80, backward) == 0);
  CHECK(narrow(90, false) > 0);
  CHECK(narrow(90, true) == narrow(90, false));
}

TEST_CASE("casts and permutations are memory-bound kernels of the grid") {
  std::set<StreamKind> kinds;
  for (const Work& work : gpu_grid(nvidia_abilities(80, false))) {
    if (const auto* stream = std::get_if<Stream>(&work)) kinds.insert(stream->kind);
  }
  for (const StreamKind kind :
       {StreamKind::permute, StreamKind::quantize, StreamKind::quantize_absmax,
        StreamKind::quantize_row, StreamKind::quantize_block, StreamKind::quantize_mxfp8}) {
    CAPTURE(name(kind));
    CHECK(kinds.contains(kind));
  }
}

TEST_CASE("casts to e2m1 are measured where there are instructions for them, by two passes") {
  const auto casts = [](int capability) {
    return std::ranges::count_if(gpu_grid(nvidia_abilities(capability, false)),
                                 [](const Work& work) {
                                   const auto* stream = std::get_if<Stream>(&work);
                                   return stream && stream->kind == StreamKind::quantize_nvfp4;
                                 });
  };
  CHECK(casts(90) == 0);
  CHECK(casts(100) >= static_cast<std::ptrdiff_t>(kFewestStreams));
  const Cast cast{CastRecipe::nvfp4, 1024.0, 2.0, false};
  CHECK(stream_traffic(StreamKind::quantize_nvfp4)->bytes_per_element * 1024.0 ==
        traffic(cast, false).value);
}

TEST_CASE("a fit of products has forward products of 1 GFLOP and more in plenty") {
  CHECK(products(gpu_grid(nvidia_abilities(80, false)), Precision::bf16, GemmPass::forward) >= 60);
}

TEST_CASE("every memory-bound kernel is measured often enough to be fitted") {
  std::map<StreamKind, std::set<std::pair<double, double>>> points;
  for (const Work& work : gpu_grid(nvidia_abilities(80, false))) {
    if (const auto* stream = std::get_if<Stream>(&work)) {
      points[stream->kind].insert({stream->bytes.value, stream->rows});
    }
  }
  for (const auto& [kind, distinct] : points) {
    CAPTURE(name(kind));
    CHECK(distinct.size() >= kFewestStreams);
  }
  CHECK(points.contains(StreamKind::optimizer));
  CHECK(points.contains(StreamKind::fused_pointwise));
}

TEST_CASE("strided-batched products include misaligned head sizes") {
  std::set<std::int64_t> head_sizes;
  for (const Work& work : gpu_grid(nvidia_abilities(80, false))) {
    const auto* gemm = std::get_if<Gemm>(&work);
    if (gemm && gemm->batch > 1 && gemm->pass == GemmPass::forward) head_sizes.insert(gemm->k);
  }
  CHECK(head_sizes.contains(108));
  CHECK(head_sizes.contains(150));
  CHECK(head_sizes.contains(128));
}

TEST_CASE("fused attention is asked for where there is a library for it, both passes alike") {
  int forward = 0;
  int backward = 0;
  for (const Work& work : gpu_grid(nvidia_abilities(80, true))) {
    if (const auto* what = std::get_if<FusedAttention>(&work))
      ++(what->backward ? backward : forward);
  }
  CHECK(forward == backward);
  CHECK(forward >= 8 * 2);  // 8 of each head size are fitted
  for (const Work& work : gpu_grid(nvidia_abilities(80, false)))
    CHECK_FALSE(std::holds_alternative<FusedAttention>(work));
}

TEST_CASE("copies are measured in both directions, from pinned and from pageable memory") {
  std::set<std::pair<bool, bool>> seen;
  for (const Work& work : gpu_grid(nvidia_abilities(80, false))) {
    if (const auto* copy = std::get_if<HostCopy>(&work))
      seen.insert({copy->to_device, copy->pinned});
  }
  CHECK(seen.size() == 4);
}

TEST_CASE("the vocabulary of a cross-entropy is wide, and every kind has points enough for a fit") {
  std::map<StreamKind, int> points;
  for (const Work& work : gpu_grid(nvidia_abilities(80, false))) {
    const auto* stream = std::get_if<Stream>(&work);
    if (!stream) continue;
    ++points[stream->kind];
    if (stream->kind != StreamKind::cross_entropy) continue;
    CHECK(stream_shape(*stream, stream_traffic(stream->kind)->bytes_per_element).width >= 32000);
  }
  // All but rotary positions, routers, casts by fused or rotated amax, short convolutions and the
  // two mixes of residual streams.
  CHECK(points.size() == kStreamKinds - 7);
  for (const auto& [kind, count] : points) CHECK_MESSAGE(count >= 12, name(kind));
}

TEST_CASE("a kernel moves the bytes that its point says") {
  for (const Work& work : gpu_grid(nvidia_abilities(80, false))) {
    const auto* stream = std::get_if<Stream>(&work);
    if (!stream) continue;
    const auto traffic = stream_traffic(stream->kind);
    REQUIRE(traffic);
    const StreamShape shape = stream_shape(*stream, traffic->bytes_per_element);
    CHECK(shape.width % 2 == 0);
    if (stream->rows > 0) CHECK(static_cast<double>(shape.rows) == stream->rows);
    CHECK(static_cast<double>(shape.elements()) * traffic->bytes_per_element ==
          doctest::Approx(stream->bytes.value).epsilon(0.001));
  }
}

TEST_CASE("traffic of a job that is no whole number of rows is met closely") {
  for (const double bytes : {1e5, 3.3e7, 7.77e9}) {
    for (const StreamKind kind : {StreamKind::softmax, StreamKind::cross_entropy,
                                  StreamKind::fused_pointwise, StreamKind::optimizer}) {
      const double each = stream_traffic(kind)->bytes_per_element;
      const double moved =
          each * static_cast<double>(stream_shape({kind, {bytes}}, each).elements());
      CHECK(moved == doctest::Approx(bytes).epsilon(0.01));
    }
  }
}

}  // namespace
}  // namespace prequel
