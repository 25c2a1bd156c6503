#include "calibrate/measure/cudnn_attention.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "calibrate/measure/gpu_grid.hpp"

namespace prequel {
namespace {

/// An A100, H100 or B200 as cuDNN describes devices; none has to be there.
CudnnDescriptor device_of(int compute_capability) {
  const bool ampere = compute_capability == 80;
  const std::string properties = nlohmann::json{
      {"deviceName", fmt::format("compute capability {}", compute_capability)},
      {"deviceVer", 10 * compute_capability},
      {"driverVer", 13000},
      {"cudaDeviceId", 0},
      {"pciDeviceId", 0},
      {"isTccDriver", 0},
      {"supportCoopLaunch", 1},
      {"multiProcessorCount", ampere ? 108 : 132},
      {"smClockRateKHz", ampere ? 1410000 : 1980000},
      {"memClockRateKHz", ampere ? 1593000 : 2619000},
      {"totalGlobalMem", std::int64_t{80} << 30},
      {"l2CacheSize", ampere ? 41943040 : 52428800},
      {"warpSize", 32},
      {"maxGridSize", {2147483647, 65535, 65535}},
      {"maxBlockSize", {1024, 1024, 64}},
      {"maxThreadsPerBlock", 1024},
      {"maxThreadsPerSM", 2048},
      {"maxCtasPerSM", 32},
      {"regsPerBlock", 65536},
      {"maxRegistersPerSM", 65536},
      {"maxSharedMemoryPerBlock", 49152},
      {"maxSharedMemoryPerBlockOptin", ampere ? 166912 : 232448},
      {"reservedSharedMemoryPerBlock",
       1024}}.dump();
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
             std::vector<char>(properties.c_str(), properties.c_str() + properties.size() + 1));
  device.finalize();
  return device;
}

/// Bytes of the scores of all heads in bf16, which a fused kernel never has in memory.
double score_bytes(const FusedAttention& what) {
  return 2.0 * static_cast<double>(what.batch * what.heads * what.seq * what.seq);
}

/// Throws where cuDNN does not compile it.
std::size_t workspace_of(const FusedAttention& what, const CudnnDescriptor& device) {
  return CudnnPlan(attention_graph(what), device).workspace_bytes();
}

TEST_CASE("cuDNN compiles both passes into fused kernels for each kind of data-centre GPU") {
  for (const int compute_capability : {80, 90, 100}) {
    if (compute_capability * 10 > static_cast<int>(cudnnGetMaxDeviceVersion())) continue;
    CAPTURE(compute_capability);
    const CudnnDescriptor device = device_of(compute_capability);
    for (const bool backward : {false, true}) {
      for (const std::int64_t kv_heads : {32, 8}) {
        const FusedAttention what{1, 8192, 32, kv_heads, 128, true, backward};
        CHECK(static_cast<double>(workspace_of(what, device)) < 0.2 * score_bytes(what));
      }
    }
  }
}

TEST_CASE("cuDNN compiles attention in fp8 into fused kernels from Hopper on") {
  for (const int compute_capability : {90, 100}) {
    if (compute_capability * 10 > static_cast<int>(cudnnGetMaxDeviceVersion())) continue;
    CAPTURE(compute_capability);
    const CudnnDescriptor device = device_of(compute_capability);
    FusedAttention what{1, 8192, 32, 32, 128};
    what.precision = Precision::fp8;
    CHECK(static_cast<double>(workspace_of(what, device)) < 0.2 * score_bytes(what));
    what.backward = true;
    for (const std::int64_t kv_heads : {32, 8}) {
      what.kv_heads = kv_heads;
      CHECK(static_cast<double>(workspace_of(what, device)) < 0.2 * score_bytes(what));
    }
    what.kv_heads = 32;
    what.causal = false;
    CHECK(static_cast<double>(workspace_of(what, device)) < 0.2 * score_bytes(what));
  }
  FusedAttention blocks{1, 8192, 32, 32, 128};
  blocks.precision = Precision::fp8_block;
  CHECK_THROWS_AS((void)attention_graph(blocks), SkippedPoint);
}

TEST_CASE("cuDNN compiles each head size of the grid, lengths off it and no mask") {
  const CudnnDescriptor device = device_of(90);
  for (const FusedAttention& what :
       {FusedAttention{8, 1024, 8, 8, 64}, FusedAttention{8, 1024, 32, 8, 64, true, true},
        FusedAttention{2, 1000, 16, 2, 96}, FusedAttention{2, 1000, 16, 2, 96, true, true},
        FusedAttention{1, 33, 4, 4, 80, false, true}}) {
    CHECK(static_cast<double>(workspace_of(what, device)) < 1e9);
  }
}

TEST_CASE("shapes that cuDNN has no kernel for are skipped with a reason") {
  const CudnnDescriptor device = device_of(90);
  for (const FusedAttention& what :
       {FusedAttention{1, 1024, 8, 8, 75}, FusedAttention{1, 1024, 8, 3, 64},
        FusedAttention{1, 1024, 8, 8, 512, true, true}}) {
    try {
      (void)workspace_of(what, device);
      FAIL("compiled");
    } catch (const SkippedPoint& error) {
      CHECK(std::string(error.what()).starts_with("cuda: "));
    }
  }
}

TEST_CASE("the arrays of attention are those of its operands and results") {
  const std::size_t queries = std::size_t{2} * 2 * 64 * 8 * 128;
  const std::size_t keys = queries / 4;
  const std::size_t statistics = std::size_t{4} * 2 * 64 * 8;
  CHECK(attention_graph({2, 64, 8, 2, 128}).arrays() ==
        std::vector<std::size_t>{queries, keys, keys, queries, statistics});
  CHECK(attention_graph({2, 64, 8, 2, 128, true, true}).arrays() ==
        std::vector<std::size_t>{queries, keys, keys, queries, statistics, queries, queries, keys,
                                 keys, 2 * queries});
}

TEST_CASE("in fp8 operands take a byte, and factors and largest elements four") {
  const std::size_t queries = std::size_t{2} * 64 * 8 * 128;
  const std::size_t keys = queries / 4;
  const std::size_t statistics = std::size_t{4} * 2 * 64 * 8;
  FusedAttention what{2, 64, 8, 2, 128};
  what.precision = Precision::fp8;
  std::vector<std::size_t> forward{queries, keys, keys, queries, statistics};
  std::vector<std::size_t> backward = forward;
  backward.insert(backward.end(), {queries, queries, keys, keys});
  forward.insert(forward.end(), 8, 4);
  backward.insert(backward.end(), 16, 4);
  CHECK(attention_graph(what).arrays() == forward);
  what.backward = true;
  CHECK(attention_graph(what).arrays() == backward);
}

TEST_CASE("a graph is bound to one address for each of its arrays") {
  CudnnGraph graph = attention_graph({1, 1024, 8, 8, 64});
  std::vector<char> memory(64);
  std::vector<void*> arrays(graph.arrays().size(), memory.data());
  CHECK(graph.bind(arrays, memory.data()).raw() != nullptr);
  arrays.pop_back();
  CHECK_THROWS_AS((void)graph.bind(arrays, memory.data()), std::out_of_range);
}

}  // namespace
}  // namespace prequel
