// Prices of single operators.

#include <benchmark/benchmark.h>

#include <vector>

#include "hw/device.hpp"

namespace {

/// GEMMs of training layers and of odd shapes on an A100. An item is a price.
void price_gemm(benchmark::State& state) {
  const auto device =
      prequel::read_device(prequel::Document::read(PREQUEL_DATA_DIR "/devices/a100-sxm-80gb.json"));
  std::vector<prequel::Gemm> shapes;
  for (std::int64_t m = 64; m <= 8192; m *= 2) {
    for (const std::int64_t n : {1024, 1800, 5120, 12288}) {
      for (const std::int64_t k : {512, 1377, 5120, 12288}) shapes.push_back({m, n, k});
    }
  }
  for ([[maybe_unused]] auto _ : state) {
    for (const prequel::Gemm& shape : shapes) {
      benchmark::DoNotOptimize(prequel::price(device, shape));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(shapes.size()));
}
BENCHMARK(price_gemm)->Name("price/gemm");

}  // namespace
