// Prices of single operators.

#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "hw/device.hpp"
#include "hw/dispatch.hpp"

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

/// The three products of the experts of one rank, on a B200. An item is a price.
void price_grouped_gemm(benchmark::State& state) {
  const auto device =
      prequel::read_device(prequel::Document::read(PREQUEL_DATA_DIR "/devices/b200.json"));
  std::vector<prequel::GroupedGemm> products;
  for (const std::int64_t groups : {1, 8, 32, 256}) {
    for (std::int64_t rows = 1024; rows <= 131072; rows *= 2) {
      for (const auto pass :
           {prequel::GemmPass::forward, prequel::GemmPass::dgrad, prequel::GemmPass::wgrad}) {
        products.push_back({.groups = groups,
                            .rows = rows,
                            .outputs = 4096,
                            .inputs = 7168,
                            .precision = prequel::Precision::mxfp8,
                            .pass = pass,
                            .padding = 32});
      }
    }
  }
  for ([[maybe_unused]] auto _ : state) {
    for (const prequel::GroupedGemm& product : products) {
      benchmark::DoNotOptimize(prequel::price(device, product));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(products.size()));
}
BENCHMARK(price_grouped_gemm)->Name("price/grouped_gemm");

/// Tokens to experts and back inside a node and across, by every dispatcher, routing limited to
/// groups or not. An item is a price.
void price_dispatch(benchmark::State& state) {
  const auto cluster =
      prequel::read_cluster(prequel::Document::read(PREQUEL_DATA_DIR "/clusters/dgx-h100.json"));
  std::vector<std::pair<prequel::GroupShape, prequel::Dispatch>> transfers;
  for (const std::int64_t ranks : {8, 64}) {
    for (const auto dispatcher : prequel::all_of<prequel::Dispatcher>()) {
      for (const bool combine : {false, true}) {
        for (const std::int64_t chosen : {1, 4}) {
          prequel::Dispatch transfer{dispatcher, combine, 4096, 7168};
          transfer.top_k = 8;
          transfer.expert_groups = chosen > 1 ? 8 : 1;
          transfer.groups_chosen = chosen;
          transfers.emplace_back(prequel::group_shape(cluster, 64, ranks, 1), transfer);
        }
      }
    }
  }
  for ([[maybe_unused]] auto _ : state) {
    for (const auto& [group, transfer] : transfers) {
      benchmark::DoNotOptimize(prequel::price(cluster, group, transfer));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(transfers.size()));
}
BENCHMARK(price_dispatch)->Name("price/dispatch");

}  // namespace
