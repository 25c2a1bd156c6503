#include "calibrate/measure/work.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/error_text.hpp"

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
  CHECK(work_text(GroupedGemm{4, 64, 8, 16, Precision::bf16, GemmPass::dgrad, 1, false}) ==
        R"({"op":"grouped_gemm","groups":4,"m_per_group":16,"n":8,"k":16,"dtype":"bf16",)"
        R"("pass":"bwd_grad_act","library":"a product an expert"})");
  CHECK(work_text(KernelLaunch{true}) == R"({"op":"graph_launch"})");
}

TEST_CASE("what was told is read back") {
  const std::vector<Work> works = {
      Gemm{8, 4, 2, 3, Precision::fp8, GemmPass::wgrad},
      Gemm{8, 4, 2, 1, Precision::fp8_block},
      GroupedGemm{4, 64, 8, 16, Precision::mxfp8, GemmPass::dgrad, 1, false},
      GroupedGemm{4, 64, 8, 16, Precision::bf16, GemmPass::wgrad},
      FusedAttention{.batch = 1,
                     .seq = 64,
                     .heads = 4,
                     .kv_heads = 4,
                     .head_dim = 64,
                     .precision = Precision::fp8},
      Stream{StreamKind::layer_norm, {8192}, 16},
      Stream{StreamKind::copy, {8192}, 0},
      FusedAttention{1, 2048, 16, 8, 128, false, true},
      CollectiveWork{CollectiveOp::all_to_all, 8, 2, {1024}, 4},
      HostCopy{false, false, {64}},
      KernelLaunch{true},
      AttentionChain{2, 1024, 16, 150},
      GradientNorm{{4096}},
      GemmBeside{{64, 32, 16}, {CollectiveOp::reduce_scatter, 4, 1, {2048}}}};
  std::string lines;
  for (const Work& work : works) lines += work_text(work) + "\n\n";
  const std::vector<Work> read = read_works("shapes.jsonl", lines);
  REQUIRE(read.size() == works.size());
  for (std::size_t i = 0; i < works.size(); ++i) CHECK(work_text(read[i]) == work_text(works[i]));
}

TEST_CASE("a list of works that is not sound is refused with its line") {
  const auto told = [](const std::string& line) {
    return error_text([&] { read_works("shapes.jsonl", "\n" + line); });
  };
  CHECK(told(R"({"op":"gem"})") == R"(shapes.jsonl:2: /op: "gem" is not known)");
  CHECK(told(R"({"op":"gemm","m":0,"n":4,"k":4})") ==
        "shapes.jsonl:2: /m: expected a whole number of at least 1, got 0");
  CHECK(told(R"({"op":"kernel_launch","bytes":4})") ==
        R"(shapes.jsonl:2: /bytes: unknown key; expected "op")");
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
