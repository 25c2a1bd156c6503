#include "calibrate/measure/work.hpp"

#include <doctest/doctest.h>

#include <set>

namespace prequel {
namespace {

TEST_CASE("each work is told in the columns of the tables") {
  CHECK(work_text(Gemm{8, 4, 2, 3, Precision::bf16, GemmPass::wgrad}) ==
        R"({"op":"gemm","m":8,"n":4,"k":2,"batch":3,"dtype":"bf16","layout":"NT"})");
  CHECK(work_text(Stream{StreamKind::layer_norm, {8192}, 16}) ==
        R"({"op":"layer_norm","bytes":8192,"tokens":16})");
  CHECK(work_text(FusedAttention{1, 2048, 16, 8, 128, true, true}) ==
        R"({"op":"attention","batch":1,"seq":2048,"heads":16,"kv_heads":8,"head_dim":128,)"
        R"("causal":true,"pass":"bwd"})");
  CHECK(work_text(CollectiveWork{CollectiveOp::all_reduce, 8, 2, {1024}}) ==
        R"({"op":"all_reduce","ranks":8,"nodes":2,"bytes":1024})");
  CHECK(work_text(CollectiveWork{CollectiveOp::all_to_all, 2, 1, {64}, 4}) ==
        R"({"op":"all_to_all","ranks":2,"nodes":1,"bytes":64,"groups":4})");
  CHECK(work_text(HostCopy{false, true, {64}}) ==
        R"({"op":"device_to_host","pinned":true,"bytes":64})");
  CHECK(work_text(KernelLaunch{true}) == R"({"op":"graph_launch"})");
}

TEST_CASE("spreading keeps each work once, in the same order every time") {
  std::vector<Work> grid;
  for (int i = 1; i <= 100; ++i) grid.emplace_back(Stream{StreamKind::copy, {64.0 * i}, 0});
  grid.insert(grid.end(), grid.begin(), grid.begin() + 10);
  const std::vector<Work> order = spread(grid);
  std::set<std::string> seen;
  for (const Work& work : order) CHECK(seen.insert(work_text(work)).second);
  CHECK(seen.size() == 100);
  CHECK(work_text(spread(grid).front()) == work_text(order.front()));
}

TEST_CASE("any beginning covers the grid") {
  std::vector<Work> grid;
  for (int i = 0; i < 400; ++i) grid.emplace_back(Stream{StreamKind::copy, {64.0 * (i + 1)}, 0});
  const std::vector<Work> order = spread(grid);
  int upper = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    if (std::get<Stream>(order[i]).bytes.value > 64.0 * 200) ++upper;
  }
  CHECK(upper > 35);
  CHECK(upper < 65);
}

}  // namespace
}  // namespace prequel
